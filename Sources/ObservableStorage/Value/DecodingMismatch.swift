import PropertyListCoding

/// Why a stored value is not one of the type that is asked for; the key makes a ``StorageError`` of it.
struct DecodingMismatch: Error, Sendable, Hashable {
    /// Where inside the stored value.
    private(set) var path = ValuePath()
    let expected: String
    let found: String

    init(_ expected: Any.Type, found: String) {
        self.expected = "\(expected)"
        self.found = found
    }

    /// The stored value is of another type.
    init(_ expected: Any.Type, _ stored: PropertyListValue) {
        self.init(expected, found: stored.typeName)
    }

    /// The stored string does not stand for a value.
    init(_ expected: Any.Type, refusing string: String) {
        self.init(expected, found: PropertyListValue.string(string).briefDescription)
    }

    /// Whatever decoding threw.
    init(_ error: any Error, decoding stored: PropertyListValue, as type: Any.Type) {
        self = error as? DecodingMismatch ?? DecodingMismatch(type, found: "\(stored.typeName), which was refused: \(error)")
    }

    /// The same, seen from one level further out.
    func inside(_ step: ValuePath.Component) -> DecodingMismatch {
        var outer = self
        outer.path.steps.insert(step, at: 0)
        return outer
    }
}

extension DecodingMismatch: CustomStringConvertible {
    var description: String {
        let place = path.steps.isEmpty ? "" : "\(path): "
        return "\(place)expected \(expected), found \(found)"
    }
}
