/// Why a value cannot be stored; the key makes a ``StorageError`` of it.
struct EncodingRefusal: Error, Sendable, Hashable {
    /// Where inside the value.
    private(set) var path = ValuePath()
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// Whatever encoding threw.
    init(_ error: any Error) {
        self = error as? EncodingRefusal ?? EncodingRefusal("\(error)")
    }

    /// The same, seen from one level further out.
    func inside(_ step: ValuePath.Component) -> EncodingRefusal {
        var outer = self
        outer.path.steps.insert(step, at: 0)
        return outer
    }
}

extension EncodingRefusal: CustomStringConvertible {
    var description: String {
        path.steps.isEmpty ? reason : "\(path): \(reason)"
    }
}
