@_exported public import PropertyListCoding

/// A type whose values can be stored as they are.
///
/// The standard types conform: `Bool`, every integer, `Double`, `Float`, `CGFloat`, `String`, `Character`, `Data`, `Date`, `Duration`, `URL`,
/// `UUID`, `Decimal`, `Locale`, `TimeZone`, `CGPoint`, `CGSize`, `CGRect`, `PropertyListValue`, and arrays, sets, ranges, dictionaries and
/// optionals of all of them, in the forms that <doc:StoredForms> lists. The keys of a dictionary are strings or convert to them without
/// loss. An enumeration with a raw value only declares the conformance; with `LosslessStringConvertible` it can be a key of a dictionary.
/// A `Codable` type conforms to ``CodableStorable``:
///
/// ```swift
/// enum Theme: String, Storable { case light, dark }
/// struct Account: CodableStorable { var name: String }
/// ```
///
/// On Apple's systems SwiftUI's `Color` conforms, and `UIColor` and `NSColor` have the codec `.color`.
/// On Linux, `CGFloat`, `CGPoint`, `CGSize` and `CGRect` need all of Foundation, and conform with `import UserDefaultsStorage`.
///
/// Types are not converted, except that a real accepts a stored integer, because people write `<integer>1</integer>` for a volume of 1.
public protocol Storable: Sendable {
    /// Creates a value from its stored form.
    ///
    /// - Throws: any error if it is not a value of this type. Readers then use the last valid value, or else the default; what is stored is
    ///   not changed.
    init(propertyListValue: PropertyListValue) throws

    /// The stored form of the value.
    ///
    /// Throws any error if the value cannot be stored; what is stored is not changed then.
    var propertyListValue: PropertyListValue { get throws }
}

extension Storable where Self: RawRepresentable, RawValue: Storable {
    /// Creates a value from its stored raw value.
    public init(propertyListValue: PropertyListValue) throws {
        try self.init(storedRawValue: propertyListValue)
    }

    /// The raw value.
    public var propertyListValue: PropertyListValue {
        get throws {
            try rawValue.propertyListValue
        }
    }
}

extension RawRepresentable where RawValue: Storable {
    init(storedRawValue stored: PropertyListValue) throws {
        guard let value = Self(rawValue: try RawValue(propertyListValue: stored)) else {
            throw CodingFailure(Self.self, found: stored.briefDescription)
        }
        self = value
    }
}

extension Array: Storable where Element: Storable {
    /// Creates an array from a stored one. An element of another type is an error, unless the codec is ``StorageCodec/lossy()``.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .array(let array) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self.init()
        reserveCapacity(array.count)
        for stored in array {
            append(try Element(part: stored, at: .step(to: count)))
        }
    }

    /// An array.
    public var propertyListValue: PropertyListValue {
        get throws {
            var array: [PropertyListValue] = []
            array.reserveCapacity(count)
            for element in self {
                array.append(try element.storedPart(at: .step(to: array.count)))
            }
            return .array(array)
        }
    }
}

extension Dictionary: Storable, StandardStorable where Key: Storable & LosslessStringConvertible, Value: Storable {
    /// Creates a dictionary from a stored one. A value of another type is an error, and so is a name from which no key can be created, or
    /// whose key is that of another name.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .dictionary(let dictionary) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self.init(minimumCapacity: dictionary.count)
        for (name, stored) in dictionary {
            guard let key = Key(name) else { throw CodingFailure(Key.self, found: "the key \"\(name)\"").inside(.step(to: name)) }
            self[key] = .some(try Value(part: stored, at: .step(to: name)))
        }
        if count < dictionary.count { throw CodingFailure(Self.self, found: Self.repeatedKeys(in: dictionary)) }
    }

    /// A dictionary whose keys are the descriptions of these keys.
    ///
    /// Throws for a key that cannot be created from its description.
    public var propertyListValue: PropertyListValue {
        get throws {
            var dictionary: [String: PropertyListValue] = [:]
            dictionary.reserveCapacity(count)
            for (key, value) in self {
                let name = key.description
                guard Key(name) == key else { throw CodingFailure("the key \"\(name)\" does not convert back to \(Key.self)") }
                dictionary[name] = try value.storedPart(at: .step(to: name))
            }
            return .dictionary(dictionary)
        }
    }

    // Sorted, so that the error is always the same.
    private static func repeatedKeys(in dictionary: [String: PropertyListValue]) -> String {
        var names: [Key: String] = [:]
        for name in dictionary.keys.sorted() {
            guard let key = Key(name) else { continue }
            if let earlier = names.updateValue(name, forKey: key) { return "the keys \"\(earlier)\" and \"\(name)\", which are the same" }
        }
        return "two keys that are the same"
    }
}

// For enumerations that are the keys of a stored dictionary.
extension LosslessStringConvertible where Self: Storable & RawRepresentable, RawValue == String {
    /// Creates the value whose raw value is the text.
    public init?(_ description: String) {
        self.init(rawValue: description)
    }

    /// The raw value.
    public var description: String { rawValue }
}

extension Optional: Storable where Wrapped: Storable {
    /// Creates a value from the stored form of the wrapped type; no stored form is nil.
    public init(propertyListValue: PropertyListValue) throws {
        self = .some(try Wrapped(propertyListValue: propertyListValue))
    }

    /// The wrapped value.
    ///
    /// Throws for nil, which a property list cannot represent. A key whose whole value is nil removes its entry.
    public var propertyListValue: PropertyListValue {
        get throws {
            guard let self else { throw CodingFailure("a property list cannot hold nil") }
            return try self.propertyListValue
        }
    }
}
