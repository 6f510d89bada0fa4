import FoundationSubset
import PropertyListCoding

/// Values as text that a person types, or that an argument or a variable of the environment has: what a text can mean for a type, and what
/// texts the type has, for errors.
enum TextForm {
    // Others are not listed in errors.
    private static let longestList = 20

    /// The stored forms that a text may stand for if it is read as a type, the most probable first.
    static func readings(of text: String, as type: Any.Type) -> [PropertyListValue] {
        let type = wrapped(type)
        if type is PropertyListValue.Type { return readings(ofAnyType: text) }
        let flag = type is Bool.Type ? boolean(text) : nil
        let list = (type as? any CollectionForm.Type)?.elementType.flatMap { self.list(text, of: $0) }
        return ([flag] + ValueSyntax.readings(of: text) + [list]).compactMap { $0 }
    }

    // A string is what nothing else is, or in quotes. Base64 is not distinguishable from words.
    private static func readings(ofAnyType text: String) -> [PropertyListValue] {
        let others = ValueSyntax.readings(of: text).dropFirst().filter { $0.typeName != "data" || text.hasPrefix("{") }
        guard text.hasPrefix("\"") else { return others + [.string(text)] }
        do throws(PropertyListError) { return [try ValueSyntax.json.value(text)] } catch { return [.string(text)] }
    }

    static func boolean(_ text: String) -> PropertyListValue? {
        do throws(PropertyListError) { return try ValueSyntax.bool.value(text) } catch { return nil }
    }

    /// A list with commas, as `a, b`; nil for an array in JSON.
    private static func list(_ text: String, of type: any Storable.Type) -> PropertyListValue? {
        let text = text.trimmed
        if text.hasPrefix("[") { return nil }
        let elements = text.isEmpty ? [] : text.split(separator: ",", omittingEmptySubsequences: false)
        return .array(
            elements.map { element in
                let element = String(element).trimmed
                // Decoding the list names the element that is none.
                return stored(element, as: type) ?? .string(element)
            })
    }

    private static func stored(_ text: String, as type: any Storable.Type) -> PropertyListValue? {
        for reading in readings(of: text, as: type) {
            do {
                _ = try type.init(propertyListValue: reading)
                return reading
            } catch {
                continue
            }
        }
        do { return try (value(named: text, of: type) as? any Storable)?.propertyListValue } catch { return nil }
    }

    /// The case of an enumeration whose name a text is; nil for another type.
    static func value(named text: String, of type: Any.Type) -> Any? {
        cases(of: type)?.first { $0.name == text || "\($0.value)" == text }?.value
    }

    /// The texts of all values of an enumeration or of `Bool`; empty for another type.
    static func names(of type: Any.Type) -> [String] {
        wrapped(type) is Bool.Type ? ["true", "false"] : cases(of: type)?.map(\.name) ?? []
    }

    /// The cases of an enumeration by name, which is the raw value if that is a string; nil for another type.
    private static func cases(of type: Any.Type) -> [(name: String, value: Any)]? {
        func cases<Value: CaseIterable>(_ type: Value.Type) -> [(name: String, value: Any)] {
            type.allCases.map { (($0 as? any RawRepresentable)?.rawValue as? String ?? "\($0)", $0) }
        }
        return (wrapped(type) as? any CaseIterable.Type).map { cases($0) }
    }

    /// A type and what its stored values are, for errors: `Theme (one of light, dark)`.
    ///
    /// - Parameter isText: whether they are given as text, so that the form of numbers and the like is named, too.
    static func expectation(of type: Any.Type, isText: Bool = false) -> String {
        // The stored values of these types have the form of texts.
        let isStoredAsText = wrapped(type) is Duration.Type || wrapped(type) is any CaseIterable.Type
        let form = isText || isStoredAsText ? form(of: type) : nil
        return form.map { "\(type) (\($0))" } ?? "\(type)"
    }

    /// What the texts of a type's values are, for people: `one of light, dark`; nil if that is not known, or if it is any text.
    ///
    /// - Parameter ranges: those that valid values are in.
    static func form(of type: Any.Type, in ranges: [String] = []) -> String? {
        let form: String? =
            switch wrapped(type) {
            case is Duration.Type: "a duration such as 100ms, 1.5s or 1m"
            case is any CaseIterable.Type: cases(of: type).flatMap(caseList)
            // The limits of the type are wider than the ranges.
            case is any FixedWidthInteger.Type where !ranges.isEmpty: "a whole number"
            case let type: textForm(of: type)
            }
        let parts = (form.map { [$0] } ?? []) + ranges.map { "in \($0)" }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private static func caseList(_ cases: [(name: String, value: Any)]) -> String? {
        if cases.isEmpty { return nil }
        return "one of \(cases.prefix(longestList).map(\.name).joined(separator: ", "))\(cases.count > longestList ? ", …" : "")"
    }

    private static func textForm(of type: Any.Type) -> String? {
        func limits<Value: FixedWidthInteger>(_ type: Value.Type) -> String { "a whole number from \(type.min) to \(type.max)" }
        switch type {
        case is Bool.Type: return "true, yes, on, 1, false, no, off or 0"
        case let integer as any FixedWidthInteger.Type: return limits(integer)
        case is any BinaryFloatingPoint.Type: return "a number such as 1.5"
        case is Date.Type: return "a date such as 2026-11-20T10:00:00Z"
        case is Data.Type: return "Base64"
        case let form as any CollectionForm.Type: return form.elementType == nil ? "JSON" : "a list such as a,b or a JSON array"
        case is any CodableStorable.Type: return "JSON"
        case is any Decodable.Type: return type is any Storable.Type || type is any RawRepresentable.Type ? nil : "JSON"
        default: return nil
        }
    }

    private static func wrapped(_ type: Any.Type) -> Any.Type {
        (type as? any OptionalValue.Type).map { wrapped($0.wrappedType) } ?? type
    }
}

/// A collection: a list of elements that are read one by one, or JSON as a text.
private protocol CollectionForm {
    static var elementType: (any Storable.Type)? { get }
}

extension Array: CollectionForm where Element: Storable {
    fileprivate static var elementType: (any Storable.Type)? { Element.self }
}

extension Set: CollectionForm where Element: Storable {
    fileprivate static var elementType: (any Storable.Type)? { Element.self }
}

extension Dictionary: CollectionForm {
    fileprivate static var elementType: (any Storable.Type)? { nil }
}

/// An optional whose type is known only at run time.
protocol OptionalValue {
    static var nilValue: Self { get }
    static var wrappedType: Any.Type { get }
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    static var nilValue: Wrapped? { nil }
    static var wrappedType: Any.Type { Wrapped.self }

    /// Whether nothing is wrapped, at any depth.
    var isNil: Bool {
        switch self {
        case .none: true
        case .some(let wrapped as any OptionalValue): wrapped.isNil
        case .some: false
        }
    }
}

extension String {
    /// The text without white space at its ends.
    var trimmed: String {
        let start = drop(while: \.isWhitespace)
        return start.lastIndex { !$0.isWhitespace }.map { String(start[...$0]) } ?? ""
    }
}
