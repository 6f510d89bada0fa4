@_exported public import PropertyListCoding

/// A type whose values can be stored as they are.
///
/// The standard types conform: `Bool`, every integer, `Double`, `Float`, `CGFloat`, `String`, `Character`, `Data`, `Date`, `Duration`, `URL`,
/// `UUID`, `Decimal`, `Locale`, `TimeZone`, `CGPoint`, `CGSize`, `CGRect`, `PropertyListValue`, and arrays, sets, ranges, dictionaries and
/// optionals of all of them. The keys of a dictionary are strings or convert to them without loss. An enumeration with a raw value needs only
/// to say so, and with `LosslessStringConvertible` it is a key, too; a `Codable` type conforms to ``CodableStorable``:
///
/// ```swift
/// enum Theme: String, Storable { case light, dark }
/// struct Account: CodableStorable { var name: String }
/// ```
///
/// On Apple's systems SwiftUI's `Color` conforms, and `UIColor` and `NSColor` have the codec `.color`.
/// On Linux only all of Foundation has `CGFloat`, `CGPoint`, `CGSize` and `CGRect`: there they conform with `import UserDefaultsStorage`.
///
/// Nothing is converted, with one exception: a real accepts a stored integer, because `<integer>1</integer>` is what people
/// write for a volume of 1.
public protocol Storable: Sendable {
    /// Makes the value from what is stored.
    ///
    /// - Throws: any error when it is not a value of this type; readers keep the last good value then, or else the default, and what is stored is kept.
    init(propertyListValue: PropertyListValue) throws

    /// What is stored for the value.
    ///
    /// Throws any error when the value cannot be stored; what was stored before is kept then.
    var propertyListValue: PropertyListValue { get throws }
}

extension Storable where Self: RawRepresentable, RawValue: Storable {
    /// The value whose raw value is stored.
    public init(propertyListValue: PropertyListValue) throws {
        guard let value = Self(rawValue: try RawValue(propertyListValue: propertyListValue)) else {
            throw CodingFailure(Self.self, found: propertyListValue.briefDescription)
        }
        self = value
    }

    /// The raw value.
    public var propertyListValue: PropertyListValue {
        get throws {
            try rawValue.propertyListValue
        }
    }
}

extension Array: Storable where Element: Storable {
    /// A stored array whose elements are all of the element's type: a wrong one is not left out, it is an error.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .array(let array) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self.init()
        reserveCapacity(array.count)
        for stored in array {
            do {
                append(try Element(propertyListValue: stored))
            } catch {
                throw CodingFailure(error, decoding: stored, as: Element.self).inside(.step(to: count))
            }
        }
    }

    /// An array.
    public var propertyListValue: PropertyListValue {
        get throws {
            var array: [PropertyListValue] = []
            array.reserveCapacity(count)
            for element in self {
                do {
                    array.append(try element.propertyListValue)
                } catch {
                    throw CodingFailure(encoding: error).inside(.step(to: array.count))
                }
            }
            return .array(array)
        }
    }
}

extension Dictionary: Storable where Key: Storable & LosslessStringConvertible, Value: Storable {
    /// A stored dictionary whose values are all of the value's type and whose keys are all descriptions of the key's type, each of another
    /// key: a wrong one is not left out, it is an error.
    public init(propertyListValue: PropertyListValue) throws {
        guard case .dictionary(let dictionary) = propertyListValue else { throw CodingFailure(Self.self, propertyListValue) }
        self.init(minimumCapacity: dictionary.count)
        for (name, stored) in dictionary {
            guard let key = Key(name) else { throw CodingFailure(Key.self, found: "the key \"\(name)\"").inside(.step(to: name)) }
            do {
                self[key] = .some(try Value(propertyListValue: stored))
            } catch {
                throw CodingFailure(error, decoding: stored, as: Value.self).inside(.step(to: name))
            }
        }
        if count < dictionary.count { throw CodingFailure(Self.self, found: Self.repeatedKeys(in: dictionary)) }
    }

    /// A dictionary whose keys are the descriptions of these keys.
    ///
    /// Throws for a key that its description does not lead back to.
    public var propertyListValue: PropertyListValue {
        get throws {
            var dictionary: [String: PropertyListValue] = [:]
            dictionary.reserveCapacity(count)
            for (key, value) in self {
                let name = key.description
                guard Key(name) == key else { throw CodingFailure("the key \"\(name)\" does not convert back to \(Key.self)") }
                do {
                    dictionary[name] = try value.propertyListValue
                } catch {
                    throw CodingFailure(encoding: error).inside(.step(to: name))
                }
            }
            return .dictionary(dictionary)
        }
    }

    // For the error only; the order of names makes it the same each time.
    private static func repeatedKeys(in dictionary: [String: PropertyListValue]) -> String {
        var names: [Key: String] = [:]
        for name in dictionary.keys.sorted() {
            guard let key = Key(name) else { continue }
            if let earlier = names.updateValue(name, forKey: key) { return "the keys \"\(earlier)\" and \"\(name)\", which are the same" }
        }
        return "two keys that are the same"
    }
}

// What an enumeration needs to be the key of a stored dictionary.
extension LosslessStringConvertible where Self: Storable & RawRepresentable, RawValue == String {
    /// Creates the value whose raw value is the text.
    public init?(_ description: String) {
        self.init(rawValue: description)
    }

    /// The raw value.
    public var description: String { rawValue }
}

extension Optional: Storable where Wrapped: Storable {
    /// A stored value of the wrapped type; nothing that is stored is nil.
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
