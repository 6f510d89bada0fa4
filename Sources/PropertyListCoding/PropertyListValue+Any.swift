import FoundationSubset

extension PropertyListValue {
    /// Creates a value from one whose type is known only at run time: a string, a number, a Boolean, a date, data, or an array or a
    /// dictionary of such.
    ///
    /// The types are Swift's: an `Int` is an integer, and a `Double` a real. Foundation's `NSNumber` is refused, because it does not tell
    /// reliably whether it is 1, 1.0 or true; `PropertyListValue(foundation:)` of `UserDefaultsStorage` reads it, as far as that is possible.
    ///
    /// - Throws: ``PropertyListError`` with the path and the type of what a property list cannot represent.
    public init(_ value: Any) throws(PropertyListError) {
        self = try Self.value(value, at: "")
    }

    private static func value(_ value: Any, at path: String) throws(PropertyListError) -> PropertyListValue {
        // Not `as? Bool`, which converts numbers of Foundation.
        if type(of: value) == Bool.self, let boolean = value as? Bool { return .boolean(boolean) }
        switch value {
        case let value as PropertyListValue: return value
        case let string as String: return .string(string)
        case let date as Date: return .date(date)
        case let data as Data: return .data(data)
        case let integer as any BinaryInteger:
            guard let integer = PropertyListInteger(exactly: integer) else { throw error(integer, at: path) }
            return .integer(integer)
        case let real as any BinaryFloatingPoint: return .real(Double(real))
        case let elements as [Any]:
            var values: [PropertyListValue] = []
            for (index, element) in elements.enumerated() { values.append(try self.value(element, at: "\(path)[\(index)]")) }
            return .array(values)
        case let entries as [String: Any]:
            var values: [String: PropertyListValue] = [:]
            for (name, value) in entries { values[name] = try self.value(value, at: "\(path).\(name)") }
            return .dictionary(values)
        default:
            let mirror = Mirror(reflecting: value)
            guard mirror.displayStyle == .optional, let wrapped = mirror.children.first else { throw error(value, at: path) }
            return try self.value(wrapped.value, at: path)
        }
    }

    private static func error(_ value: Any, at path: String) -> PropertyListError {
        let prefix = path.isEmpty ? "" : "\(path): "
        return PropertyListError(offset: nil, reason: "\(prefix)a property list cannot represent this \(type(of: value))")
    }

    /// The value as Foundation's serializations return it: a `String`, `Bool`, `Date`, `Data`, `[Any]`, `[String: Any]`, a `Double` for a real,
    /// an `Int` for an integer, or a `UInt64` for a larger one. A UID is the dictionary `["CF$UID": 1]`, as in XML.
    public var foundationValue: Any {
        switch self {
        case .string(let string): string
        case .boolean(let boolean): boolean
        case .real(let real): real
        case .date(let date): date
        case .data(let data): data
        case .integer(let integer): integer.value(as: Int.self) ?? integer.bits as Any
        case .array(let elements): elements.map(\.foundationValue)
        case .dictionary(let entries): entries.mapValues(\.foundationValue)
        case .uid(let number): ["CF$UID": number] as [String: Any]
        }
    }
}
