public import FoundationSubset
public import PropertyListCoding

/// How a key turns its value into what is stored, and back.
///
/// ```swift
/// let account = StorageKey<Account?>("account", codec: .json)
/// ```
public struct StorageCodec<Value: Sendable>: Sendable {
    /// Returns what to store for a value; throws if it cannot be stored.
    public let encode: @Sendable (Value) throws -> PropertyListValue
    /// Returns the value that is stored; throws if what is stored is none.
    public let decode: @Sendable (PropertyListValue) throws -> Value
    /// Whether this is the value's own stored form, and nothing else runs than its conformance to ``Storable``: decoding it costs less
    /// than remembering.
    private(set) var isNative = false

    private init(
        encode: @escaping @Sendable (Value) throws -> PropertyListValue, decode: @escaping @Sendable (PropertyListValue) throws -> Value
    ) {
        self.encode = encode
        self.decode = decode
    }
}

extension StorageCodec {
    /// A codec of two closures.
    ///
    /// - Parameters:
    ///   - encode: returns what to store; whatever it throws leaves what was stored before.
    ///   - decode: returns the value that is stored; whatever it throws leaves readers the last good value, or else the default.
    public static func custom(
        encode: @escaping @Sendable (Value) throws -> PropertyListValue, decode: @escaping @Sendable (PropertyListValue) throws -> Value
    ) -> StorageCodec {
        StorageCodec(encode: encode, decode: decode)
    }

    /// A codec whose outcome goes through another one before it is stored: JSON that is compressed, say.
    ///
    /// - Parameter next: takes what this codec stores as its value.
    public func then<Encoded: Storable>(_ next: StorageCodec<Encoded>) -> StorageCodec {
        StorageCodec(
            encode: { try next.encode(Encoded(propertyListValue: encode($0))) },
            decode: { try decode(next.decode($0).propertyListValue) })
    }

    /// The same for values that may be nil. Nil is never encoded, and ``encode`` throws for it: a key removes its entry.
    func optional() -> StorageCodec<Value?> {
        StorageCodec<Value?>(
            encode: { value in
                guard let value else { throw CodingFailure("a property list cannot hold nil") }
                return try encode(value)
            }, decode: decode)
    }
}

extension StorageCodec where Value: Storable {
    /// The value's own stored form.
    public static var native: StorageCodec {
        var codec = StorageCodec(encode: { try $0.propertyListValue }, decode: { try Value(propertyListValue: $0) })
        codec.isNative = !(Value.self is any CodableStorable.Type)
        return codec
    }
}

extension StorageCodec where Value: RawRepresentable, Value.RawValue: Storable {
    /// The raw value's stored form, for types that do not conform to ``Storable`` themselves.
    public static var rawValue: StorageCodec {
        StorageCodec(
            encode: { try $0.rawValue.propertyListValue },
            decode: { stored in
                guard let value = Value(rawValue: try Value.RawValue(propertyListValue: stored)) else {
                    throw CodingFailure(Value.self, found: stored.briefDescription)
                }
                return value
            })
    }
}

extension StorageCodec {
    /// The element's stored form in an array from which elements that cannot be decoded are left out.
    ///
    /// What is left out stays stored until the array is written again.
    public static func lossy<Element: Storable>() -> StorageCodec where Value == [Element] {
        StorageCodec(
            encode: { try $0.propertyListValue },
            decode: { stored in
                guard case .array(let array) = stored else { throw CodingFailure([Element].self, stored) }
                return array.compactMap { stored in
                    do {
                        return try Element(propertyListValue: stored)
                    } catch {
                        return nil
                    }
                }
            })
    }
}

extension StorageCodec where Value: Codable {
    /// JSON as data, with keys in order, so that equal values are stored alike.
    public static var json: StorageCodec {
        json()
    }

    /// JSON as data; text is read too.
    ///
    /// - Parameters:
    ///   - encoder: by default one that writes keys in order, so that equal values are stored alike.
    ///   - decoder: reads what the encoder wrote.
    public static func json(encoder: JSONEncoder? = nil, decoder: JSONDecoder = JSONDecoder()) -> StorageCodec {
        let encoder = encoder ?? .sorted
        return StorageCodec(
            encode: { .data(try encoder.encode($0)) },
            decode: { stored in
                switch stored {
                case .data(let data): try decoder.decode(Value.self, from: data)
                case .string(let text): try decoder.decode(Value.self, from: Data(text.utf8))
                default: throw CodingFailure(Value.self, stored)
                }
            })
    }

    /// The value as a property list of its own, which `prefs` and `plutil` show and edit.
    public static var propertyList: StorageCodec {
        StorageCodec(
            encode: { value in
                // An encoder takes no lone numbers or strings: they travel in an array.
                let encoder = PropertyListEncoder()
                encoder.outputFormat = .binary
                guard case .array(let array) = try PropertyListValue.decode(encoder.encode([value])).value, array.count == 1 else {
                    throw CodingFailure("its encoder wrote nothing")
                }
                return array[0]
            },
            decode: { stored in
                let data = try PropertyListValue.array([stored]).encoded(as: .binary)
                return try PropertyListDecoder().decode([Value].self, from: data)[0]
            })
    }
}

extension JSONEncoder {
    fileprivate static var sorted: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return encoder
    }
}
