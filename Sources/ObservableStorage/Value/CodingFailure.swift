import PropertyListCoding

/// Why a stored value is not one of the type that is asked for; the key makes a ``StorageError`` of it.
struct DecodingMismatch: Error, Sendable, Hashable {
    /// Where inside the stored value.
    private(set) var path = ""
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
    ///
    /// - Parameter step: the way from there.
    func inside(_ step: String) -> DecodingMismatch {
        var outer = self
        outer.path = step + path
        return outer
    }
}

extension DecodingMismatch: CustomStringConvertible {
    var description: String {
        let place = path.isEmpty ? "" : "\(path): "
        return "\(place)expected \(expected), found \(found)"
    }
}

/// Why a value cannot be stored; the key makes a ``StorageError`` of it.
struct EncodingRefusal: Error, Sendable, Hashable {
    /// Where inside the value.
    private(set) var path = ""
    let reason: String

    init(_ reason: String) {
        self.reason = reason
    }

    /// Whatever encoding threw.
    init(_ error: any Error) {
        self = error as? EncodingRefusal ?? EncodingRefusal("\(error)")
    }

    /// The same, seen from one level further out.
    ///
    /// - Parameter step: the way from there.
    func inside(_ step: String) -> EncodingRefusal {
        var outer = self
        outer.path = step + path
        return outer
    }
}

extension EncodingRefusal: CustomStringConvertible {
    var description: String {
        path.isEmpty ? reason : "\(path): \(reason)"
    }
}

extension String {
    /// The way to an element inside a value, as it stands after a key: `[2]`.
    static func step(to index: Int) -> String {
        "[\(index)]"
    }

    /// The way to an entry inside a value, as it stands after a key: `.port`.
    static func step(to name: String) -> String {
        name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !name.isEmpty ? ".\(name)" : "[\"\(name)\"]"
    }
}

extension PropertyListValue {
    private static let longestText = 60

    /// The type and, where that is short, the value: for errors about what is in it.
    var briefDescription: String {
        switch self {
        case .string(let string):
            "string \"\(string.prefix(Self.longestText))\(string.count > Self.longestText ? "…" : "")\""
        case .integer(let integer): "integer \(integer)"
        case .real(let real): "real \(real)"
        case .boolean(let boolean): "boolean \(boolean)"
        default: typeName
        }
    }
}
