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

    /// A dictionary; of two entries with the same key the later one counts.
    public init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self = .dictionary(Dictionary(elements, uniquingKeysWith: { $1 }))
    }
}
