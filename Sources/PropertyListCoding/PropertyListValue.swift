public import FoundationSubset

/// A value of a property list.
///
/// Booleans, integers and reals are distinct: `.integer(1)`, `.real(1)` and `.boolean(true)` are three different values.
/// Equality is exact: two reals or dates are equal when their bits are, so that NaN equals itself and -0.0 differs from
/// 0.0, and two strings when their bytes are, so that a change of Unicode normalization is a change.
public enum PropertyListValue: Sendable {
    /// Text, any Unicode scalars.
    case string(String)
    /// An integer from `Int64.min` to `UInt64.max`.
    case integer(PropertyListInteger)
    /// A 64-bit floating-point number.
    case real(Double)
    /// A Boolean value.
    case boolean(Bool)
    /// A point in time, in a property list the number of seconds since 2001-01-01 00:00:00 UTC.
    case date(Date)
    /// Bytes.
    case data(Data)
    /// An ordered list.
    case array([PropertyListValue])
    /// Values by name, without an order.
    case dictionary([String: PropertyListValue])
    /// A reference inside a keyed archive.
    case uid(UInt64)
}

extension PropertyListValue {
    /// The name of the value's type: `string`, `integer`, `real`, `boolean`, `date`, `data`, `array`, `dictionary` or `uid`.
    public var typeName: String {
        switch self {
        case .string: "string"
        case .integer: "integer"
        case .real: "real"
        case .boolean: "boolean"
        case .date: "date"
        case .data: "data"
        case .array: "array"
        case .dictionary: "dictionary"
        case .uid: "uid"
        }
    }

    var isDictionary: Bool {
        if case .dictionary = self { true } else { false }
    }

    var isContainer: Bool {
        switch self {
        case .array, .dictionary: true
        default: false
        }
    }

    /// The number of values in a container; 0 for a leaf.
    var childCount: Int {
        switch self {
        case .array(let elements): elements.count
        case .dictionary(let entries): entries.count
        default: 0
        }
    }

    /// The bytes of a text or of data, or of those in a container of few children, which may be long.
    var longLeafSize: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let data): data.count
        case .array(let elements) where elements.count < 1000:
            elements.reduce(0) { $0 + ($1.isContainer ? 0 : $1.longLeafSize) }
        case .dictionary(let entries) where entries.count < 1000:
            entries.values.reduce(0) { $0 + ($1.isContainer ? 0 : $1.longLeafSize) }
        default: 0
        }
    }
}

extension [String: PropertyListValue] {
    /// Whether the dictionary's key that equals this one has the same bytes.
    func hasSameBytes(_ key: String) -> Bool {
        index(forKey: key).map { keys[$0].hasSameBytes(as: key) } ?? false
    }
}

extension PropertyListValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByBooleanLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) {
        self = .string(value)
    }

    /// An integer.
    public init(integerLiteral value: Int64) {
        self = .integer(PropertyListInteger(value))
    }

    /// A real.
    public init(floatLiteral value: Double) {
        self = .real(value)
    }

    /// A boolean.
    public init(booleanLiteral value: Bool) {
        self = .boolean(value)
    }

    /// An array.
    public init(arrayLiteral elements: PropertyListValue...) {
        self = .array(elements)
    }

    /// A dictionary; of two entries with the same key the later one is used.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self = .dictionary(elements.reduce(into: [:]) { $0[$1.0] = $1.1 })
    }
}
