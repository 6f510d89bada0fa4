import PropertyListCoding

/// Why a stored value cannot be decoded, or why a value cannot be encoded. A key converts it to a ``StorageError``.
struct CodingFailure: Error, Sendable, Hashable {
    private(set) var path = ""
    /// The type to decode; nil if a value cannot be encoded.
    let expected: String?
    /// What was found instead, or why the value cannot be encoded.
    let reason: String
    /// The same reason for the key of a secret; nil if it cannot be given without the value.
    var reasonWithoutValue: String?
    /// The error of user code; nil if it has thrown none.
    var underlying: UnderlyingError?

    /// The failure as one of the enclosing value.
    ///
    /// - Parameter step: the path from there.
    func inside(_ step: String) -> CodingFailure {
        var outer = self
        outer.path = step + path
        return outer
    }
}

// Decoding.
extension CodingFailure {
    init(_ expected: Any.Type, found: String) {
        self.init(expected: TextForm.expectation(of: expected), reason: found)
    }

    init(_ expected: Any.Type, _ stored: PropertyListValue) {
        self.init(expected, found: stored.typeName)
    }

    /// The stored string does not represent a value.
    init(_ expected: Any.Type, refusing string: String) {
        self.init(expected, found: PropertyListValue.string(string).briefDescription)
    }

    init(_ error: any Error, decoding stored: PropertyListValue, as type: Any.Type) {
        if let failure = error as? CodingFailure, failure.expected != nil {
            self = failure
        } else {
            let underlying = error is CodingFailure ? nil : UnderlyingError(error)
            let reason = "\(stored.typeName), which was refused: \(error)"
            self.init(expected: TextForm.expectation(of: type), reason: reason, underlying: underlying)
        }
    }

    /// The failure for an error thrown by decoding, without the value: neither its text, nor the names in it, nor the error of user code.
    init(_ error: any Error, decodingSecret stored: PropertyListValue, as type: Any.Type) {
        self.init(type, found: "\(stored.typeName) \(SecretNames.placeholder)\(Self.refusal(error))")
    }

    // The type of an error does not have the value.
    private static func refusal(_ error: any Error) -> String {
        guard let failure = error as? CodingFailure else { return ", which was refused: \(type(of: error))" }
        return failure.reasonWithoutValue.map { ", which was refused: \($0)" } ?? ""
    }
}

// Encoding.
extension CodingFailure {
    init(_ reason: String, withoutValue: String? = nil) {
        self.init(expected: nil, reason: reason, reasonWithoutValue: withoutValue)
    }

    init(encoding error: any Error) {
        if let failure = error as? CodingFailure, failure.expected == nil {
            self = failure
        } else {
            self.init(expected: nil, reason: "\(error)", underlying: UnderlyingError(error))
        }
    }

    /// The failure for an error thrown by encoding, without the value.
    init(encodingSecret error: any Error) {
        self.init("the value \(SecretNames.placeholder)\(Self.refusal(error))")
    }
}

extension CodingFailure: CustomStringConvertible {
    var description: String {
        let prefix = path.isEmpty ? "" : "\(path): "
        return prefix + (expected.map { "expected \($0), found \(reason)" } ?? reason)
    }
}

// The parts of a value, such as the elements of an array: an error has the path to the part.
extension Storable {
    init(part stored: PropertyListValue, at step: @autoclosure () -> String) throws {
        do {
            try self.init(propertyListValue: stored)
        } catch {
            throw CodingFailure(error, decoding: stored, as: Self.self).inside(step())
        }
    }

    func storedPart(at step: @autoclosure () -> String) throws -> PropertyListValue {
        do {
            return try propertyListValue
        } catch {
            throw CodingFailure(encoding: error).inside(step())
        }
    }
}

extension StorageError {
    /// The error that decoding threw, as an error about a key: the path inside the value is added to the key's name.
    static func undecodable(
        key: String, as type: Any.Type, stored: PropertyListValue, because error: any Error, isSecret: Bool = false
    ) -> StorageError {
        let failure =
            isSecret ? CodingFailure(error, decodingSecret: stored, as: type) : CodingFailure(error, decoding: stored, as: type)
        return .undecodable(
            key: "\(key)\(failure.path)", expected: failure.expected ?? "\(type)", found: failure.reason, underlying: failure.underlying)
    }

    /// The error that encoding threw, as an error about a key: the path inside the value is added to the key's name.
    static func unencodable(key: String, because error: any Error, isSecret: Bool = false) -> StorageError {
        let failure = isSecret ? CodingFailure(encodingSecret: error) : CodingFailure(encoding: error)
        return .unencodable(key: "\(key)\(failure.path)", reason: failure.reason, underlying: failure.underlying)
    }
}

extension String {
    /// The path to an element inside a value, as it is written after a key: `[2]`.
    static func step(to index: Int) -> String {
        "[\(index)]"
    }

    /// The path to an entry inside a value, as it is written after a key: `.port`.
    static func step(to name: String) -> String {
        name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !name.isEmpty ? ".\(name)" : "[\"\(name)\"]"
    }

    /// The text with escapes for characters that control a terminal or the direction of text, since others may have written it.
    package var printable: String {
        guard unicodeScalars.contains(where: \.isUnprintable) else { return self }
        return unicodeScalars.reduce(into: "") { text, scalar in
            if scalar.isUnprintable {
                text += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
    }

    /// The same on a single line.
    package var printableLine: String {
        String(map { $0.isNewline ? " " : $0 }).printable
    }

    private static let longestQuotation = 60

    /// The text in quotation marks, or its beginning if it is long, for errors.
    var briefQuotation: String {
        "\"\(prefix(Self.longestQuotation))\(count > Self.longestQuotation ? "…" : "")\""
    }
}

extension PropertyListValue {
    /// The type, and the value if that is short, for errors.
    var briefDescription: String {
        switch self {
        case .string(let string): "string \(string.briefQuotation)"
        case .integer(let integer): "integer \(integer)"
        case .real(let real): "real \(real)"
        case .boolean(let boolean): "boolean \(boolean)"
        default: typeName
        }
    }
}
