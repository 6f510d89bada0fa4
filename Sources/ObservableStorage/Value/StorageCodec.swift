public import FoundationSubset
public import PropertyListCoding

/// Converts values to their stored form, and back.
///
/// ```swift
/// let account = StorageKey<Account?>("account", codec: .json)
/// ```
public struct StorageCodec<Value: Sendable>: Sendable {
    /// Returns the stored form of a value; throws if it cannot be stored.
    public let encode: @Sendable (Value) throws -> PropertyListValue
    /// Returns the value of a stored form; throws if it is not that of a value.
    public let decode: @Sendable (PropertyListValue) throws -> Value
    /// Whether only the value's conformance to ``Storable`` runs: decoding then costs less than caching.
    private(set) var isNative = false
}

extension StorageCodec {
    /// Creates a codec from two closures.
    ///
    /// - Parameters:
    ///   - encode: returns the stored form of a value; if it throws, what is stored is not changed.
    ///   - decode: returns the value of a stored form; if it throws, readers use the last valid value, or else the default.
    public static func custom(
        encode: @escaping @Sendable (Value) throws -> PropertyListValue, decode: @escaping @Sendable (PropertyListValue) throws -> Value
    ) -> StorageCodec {
        StorageCodec(encode: encode, decode: decode)
    }

    /// A codec whose stored form is encoded by another one, for example to compress JSON.
    ///
    /// - Parameter next: encodes the stored form of this codec.
    public func then<Encoded: Storable>(_ next: StorageCodec<Encoded>) -> StorageCodec {
        StorageCodec(
            encode: { try next.encode(Encoded(propertyListValue: encode($0))) },
            decode: { try decode(next.decode($0).propertyListValue) })
    }

    /// An array of the elements' own stored forms. Elements that cannot be decoded are skipped, and stay stored until the array is set.
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

    /// The same codec for optional values. Encoding nil throws, as a key removes its entry instead.
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
        StorageCodec(
            encode: { try $0.propertyListValue }, decode: { try Value(propertyListValue: $0) },
            isNative: !(Value.self is any CodableStorable.Type))
    }
}

extension StorageCodec where Value: RawRepresentable, Value.RawValue: Storable {
    /// The raw value's stored form, for types that do not conform to ``Storable`` themselves.
    public static var rawValue: StorageCodec {
        StorageCodec(
            encode: { try $0.rawValue.propertyListValue },
            decode: { try Value(storedRawValue: $0) })
    }
}

extension StorageCodec where Value: Codable {
    /// JSON as data, with sorted keys, so that equal values have the same stored form.
    public static var json: StorageCodec {
        json()
    }

    /// JSON as data; a stored string is decoded as well.
    ///
    /// - Parameters:
    ///   - encoder: the encoder; by default one that sorts keys, so that equal values have the same stored form.
    ///   - decoder: the decoder.
    public static func json(encoder: JSONEncoder? = nil, decoder: JSONDecoder = JSONDecoder()) -> StorageCodec {
        let sorting = JSONEncoder()
        sorting.outputFormatting = .sortedKeys
        let encoder = encoder ?? sorting
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

    /// Native property-list structures, which `prefs` and `plutil` show and edit.
    ///
    /// Standard types and other ``Storable`` ones have the same stored form inside the value as by themselves; see <doc:StoredForms>. Nil
    /// is no entry. What `PropertyListEncoder` has written is read as well.
    public static var propertyList: StorageCodec {
        StorageCodec(encode: { try ValueEncoder.encode($0) }, decode: { try ValueDecoder.decode(Value.self, from: $0) })
    }

    /// JSON as a string, which people can read and edit in a property list; otherwise as ``json``.
    ///
    /// Stored data is decoded as well, and replaced by a string when the key is set.
    public static var jsonText: StorageCodec {
        let json = json
        return StorageCodec(
            encode: { .string(String(decoding: try json.encode($0).data ?? Data(), as: UTF8.self)) }, decode: json.decode)
    }
}

// Text for values that JSON has no form for.

extension StorageCodec<Date> {
    /// The date as ISO 8601 text in UTC, such as `2026-11-20T10:00:00.25Z`, for a JSON file, and for people who edit one.
    ///
    /// The text is read with `Z` or an offset; a stored date is decoded as well.
    public static var iso8601: StorageCodec {
        .custom(
            encode: { .string($0.iso8601) },
            decode: { stored in try stored.date ?? stored.parsed { Date(iso8601: $0) } })
    }
}

extension StorageCodec<Data> {
    /// The bytes as base64 text, for a JSON file; stored data is decoded as well.
    ///
    /// Any codec that stores data becomes one for JSON files with `.then(.base64)`.
    public static var base64: StorageCodec {
        .custom(
            encode: { .string($0.base64EncodedString()) },
            decode: { stored in try stored.data ?? stored.parsed { Data(base64Encoded: $0) } })
    }
}
