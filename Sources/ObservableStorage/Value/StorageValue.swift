public import PropertyListCoding

/// A type whose values can be stored as they are.
///
/// The standard types conform: `Bool`, every integer, `Double`, `Float`, `CGFloat`, `String`, `Data`, `Date`, `URL`, `UUID`, `Decimal`,
/// `PropertyListValue`, and arrays, string-keyed dictionaries and optionals of all of them. An enumeration with a raw value
/// needs only to say so:
///
/// ```swift
/// enum Theme: String, StorageValue { case light, dark }
/// ```
///
/// Nothing is converted, with one exception: a real accepts a stored integer, because `<integer>1</integer>` is what people
/// write for a volume of 1.
public protocol StorageValue: Sendable {
    /// Makes the value from what is stored.
    ///
    /// - Throws: any error when it is not a value of this type; readers keep the last good value then, or else the default, and what is stored is kept.
    init(propertyListValue: PropertyListValue) throws

    /// What is stored for the value.
    ///
    /// Throws any error when the value cannot be stored; what was stored before is kept then.
    var propertyListValue: PropertyListValue { get throws }
}
