import FoundationSubset
import PropertyListCoding

extension StorageCodec where Value: Storable {
    /// The value's own stored form, which also reads other types that denote the same value, as `UserDefaults` does, for files written by
    /// people or other programs.
    ///
    /// ```swift
    /// let port = StorageKey("port", codec: .lenient, default: 80)
    /// ```
    ///
    /// - `"42"`, `42.0` and `42` are the integer 42, and `true` is 1.
    /// - `1`, `1.0`, `"1"`, `"YES"`, `"true"` and `"y"` are true, `0`, `"NO"`, `"false"` and `"n"` are false; in upper or lower case.
    /// - `42` is the string `"42"`, `1.5` is `"1.5"`, and `true` is `"1"`.
    ///
    /// Where `UserDefaults` loses information, the value is an error: it reads `"abc"` as 0 and `"12abc"` as 12, `1.5` as the integer 1, and
    /// every number but 0 as true. The elements of a collection are not converted.
    public static var lenient: StorageCodec {
        .custom(
            encode: { try $0.propertyListValue },
            decode: { stored in
                do {
                    return try Value(propertyListValue: stored)
                } catch {
                    for form in stored.equivalents {
                        do { return try Value(propertyListValue: form) } catch { continue }
                    }
                    guard case .string(let text) = stored else { throw error }
                    throw CodingFailure(Value.self, refusing: text)
                }
            })
    }
}

extension PropertyListValue {
    /// The same value in other types: numbers before Booleans, so that a value of any type has its own meaning.
    fileprivate var equivalents: [PropertyListValue] {
        switch self {
        case .string(let text): Self.values(denotedBy: text)
        case .integer(let integer): Self.boolean(integer) + [.string("\(integer)")]
        case .real(let real):
            // The text of a real whose value is an integer has a fraction, as `UserDefaults` writes it.
            Self.integer(real).map { [.integer($0)] + Self.boolean($0) + [.string("\(real)")] } ?? [.string("\(real)")]
        case .boolean(let boolean): [.integer(boolean ? 1 : 0), .string(boolean ? "1" : "0")]
        case .date, .data, .array, .dictionary, .uid: []
        }
    }

    private static func values(denotedBy text: String) -> [PropertyListValue] {
        let text = text.trimmed
        switch text.lowercased() {
        case "yes", "y", "true", "t": return [true]
        case "no", "n", "false", "f": return [false]
        default: break
        }
        // Other notations of a number, such as 0x10, are not read: `UserDefaults` reads them as 0.
        guard text.utf8.allSatisfy({ "0123456789+-.eE".utf8.contains($0) }), let real = Double(text), real.isFinite else { return [] }
        let integer = Int64(text).map { PropertyListInteger($0) } ?? UInt64(text).map { PropertyListInteger($0) } ?? integer(real)
        return (integer.map { [.integer($0)] + boolean($0) } ?? []) + [.real(real)]
    }

    private static func boolean(_ integer: PropertyListInteger) -> [PropertyListValue] {
        integer == 0 ? [false] : integer == 1 ? [true] : []
    }

    private static func integer(_ real: Double) -> PropertyListInteger? {
        // A larger real is an integer as well, but not necessarily the one that was meant.
        guard real.magnitude <= 0x1p53 else { return nil }
        return Int64(exactly: real).map { PropertyListInteger($0) }
    }
}
