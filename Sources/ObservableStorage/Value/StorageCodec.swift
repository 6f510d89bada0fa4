import PropertyListCoding

/// How a key turns its value into what is stored, and back.
struct StorageCodec<Value: Sendable>: Sendable {
    /// What to store for a value.
    let encode: @Sendable (Value) throws -> PropertyListValue
    /// The value that is stored.
    let decode: @Sendable (PropertyListValue) throws -> Value
}

extension StorageCodec where Value: StorageValue {
    /// The value's own stored form.
    static var native: StorageCodec {
        StorageCodec(encode: { try $0.propertyListValue }, decode: { try Value(propertyListValue: $0) })
    }
}
