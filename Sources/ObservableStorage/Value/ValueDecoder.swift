import FoundationSubset
import PropertyListCoding

/// Decodes a `Codable` value from what ``ValueEncoder`` or `PropertyListEncoder` has encoded.
struct ValueDecoder: Decoder {
    let stored: PropertyListValue
    let userInfo: [CodingUserInfoKey: Any] = [:]
    // Joined only when they are needed, which is not for a number or a string.
    private let outerPath: [any CodingKey]
    private let key: (any CodingKey)?
    // Whether a type's own stored form was tried before, so that its decoding does not try it again and again.
    private var isRetry = false

    fileprivate init(_ stored: PropertyListValue, in outerPath: [any CodingKey] = [], at key: (any CodingKey)? = nil) {
        (self.stored, self.outerPath, self.key) = (stored, outerPath, key)
    }

    var codingPath: [any CodingKey] { outerPath + (key.map { [$0] } ?? []) }

    static func decode<Value: Decodable>(_ type: Value.Type, from stored: PropertyListValue) throws -> Value {
        let decoder = ValueDecoder(stored)
        return usesStoredForm(asWhole: type) ? try decoder.value(type) : try type.init(from: decoder)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .dictionary(let entries) = stored else { throw mismatch([String: PropertyListValue].self, "a dictionary") }
        return KeyedDecodingContainer(EntryDecoder(codingPath: codingPath, entries: entries))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .array(let elements) = stored else { throw mismatch([PropertyListValue].self, "an array") }
        return ElementDecoder(codingPath: codingPath, elements: elements)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    fileprivate func value<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard usesStoredForm(type), let storable = type as? any Storable.Type else { return try type.init(from: self) }
        do {
            // The cast is of the same type, and succeeds.
            if let value = try storable.init(propertyListValue: stored) as? Value { return value }
            throw CodingFailure(type, stored)
        } catch {
            let failure = CodingFailure(error, decoding: stored, as: type)
            // A property list has these itself: their own decoding would read numbers.
            if type is Date.Type || type is Data.Type { throw self.error(failure, type) }
            // What a decoder inside has refused, in whichever form, would be refused again: at each level, with twice the work.
            guard !isRetry, !(error is DecodingError || failure.underlying?.error is DecodingError) else { throw self.error(failure, type) }
            var retry = self
            retry.isRetry = true
            // `PropertyListEncoder` has written what the type's own encoding writes.
            do { return try type.init(from: retry) } catch { throw self.error(failure, type) }
        }
    }

    private func mismatch(_ type: Any.Type, _ expected: String) -> DecodingError {
        .typeMismatch(type, context("expected \(expected), found \(stored.typeName)"))
    }

    private func error(_ failure: CodingFailure, _ type: Any.Type) -> DecodingError {
        // That of a value inside, whose text would double with each level if it were both the reason and the cause.
        if let inner = (failure.underlying?.error as? DecodingError)?.context {
            let path = codingPath + [ElementKey.step(failure.path)] + inner.codingPath
            return .dataCorrupted(
                DecodingError.Context(codingPath: path, debugDescription: inner.debugDescription, underlyingError: inner.underlyingError))
        }
        let context = context("\(failure)", failure.underlying?.error)
        return failure.reason == stored.typeName ? .typeMismatch(type, context) : .dataCorrupted(context)
    }

    private func context(_ reason: String, _ error: (any Error)? = nil) -> DecodingError.Context {
        DecodingError.Context(codingPath: codingPath, debugDescription: reason, underlyingError: error)
    }
}

extension DecodingError {
    fileprivate var context: Context? {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context), .keyNotFound(_, let context), .dataCorrupted(let context):
            context
        @unknown default: nil
        }
    }
}

// The generic `decode` is the one of each primitive type, too, except those for which the protocol has one that throws.
private struct EntryDecoder<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let codingPath: [any CodingKey]
    let entries: [String: PropertyListValue]

    var allKeys: [Key] { entries.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { entries[key.stringValue] != nil }

    // Nil is no entry.
    func decodeNil(forKey key: Key) throws -> Bool { try !contains(key) || part(key).decodeNil() }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        if let stored = entries[key.stringValue] { return try ValueDecoder(stored, in: codingPath, at: key).value(type) }
        if let type = type as? any OptionalValue.Type, let none = type.nilValue as? Value { return none }
        return try part(key).value(type)
    }

    func decode(_ type: Int128.Type, forKey key: Key) throws -> Int128 { try part(key).value(type) }

    func decode(_ type: UInt128.Type, forKey key: Key) throws -> UInt128 { try part(key).value(type) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try part(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try part(key).unkeyedContainer() }

    // A superclass that has encoded nothing needs no entry.
    func superDecoder() -> any Decoder {
        ValueDecoder(entries[ElementKey.superclass.stringValue] ?? [:], in: codingPath, at: ElementKey.superclass)
    }

    func superDecoder(forKey key: Key) -> any Decoder { ValueDecoder(entries[key.stringValue] ?? [:], in: codingPath, at: key) }

    private func part(_ key: Key) throws -> ValueDecoder {
        guard let stored = entries[key.stringValue] else {
            let reason = "there is no entry \"\(key.stringValue)\""
            throw DecodingError.keyNotFound(key, DecodingError.Context(codingPath: codingPath, debugDescription: reason))
        }
        return ValueDecoder(stored, in: codingPath, at: key)
    }
}

private struct ElementDecoder: UnkeyedDecodingContainer {
    let codingPath: [any CodingKey]
    let elements: [PropertyListValue]
    private(set) var currentIndex = 0

    init(codingPath: [any CodingKey], elements: [PropertyListValue]) {
        (self.codingPath, self.elements) = (codingPath, elements)
    }

    var count: Int? { elements.count }
    var isAtEnd: Bool { currentIndex >= elements.count }

    mutating func decodeNil() throws -> Bool {
        let isNil = try part(Any?.self).decodeNil()
        if isNil { currentIndex += 1 }
        return isNil
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try advance(try part(type).value(type)) }

    mutating func decode(_ type: Int128.Type) throws -> Int128 { try advance(try part(type).value(type)) }

    mutating func decode(_ type: UInt128.Type) throws -> UInt128 { try advance(try part(type).value(type)) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try advance(try part(type).container(keyedBy: type))
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try advance(try part([PropertyListValue].self).unkeyedContainer())
    }

    mutating func superDecoder() throws -> any Decoder { try advance(try part((any Decoder).self)) }

    // The index stays if decoding throws.
    private mutating func advance<Result>(_ result: Result) throws -> Result {
        currentIndex += 1
        return result
    }

    private func part(_ type: Any.Type) throws -> ValueDecoder {
        guard !isAtEnd else {
            let reason = "expected more than \(elements.count) elements"
            throw DecodingError.valueNotFound(type, DecodingError.Context(codingPath: codingPath, debugDescription: reason))
        }
        return ValueDecoder(elements[currentIndex], in: codingPath, at: ElementKey.index(currentIndex))
    }
}

extension ValueDecoder: SingleValueDecodingContainer {
    // `PropertyListEncoder` writes nil as this string.
    func decodeNil() -> Bool { stored == "$null" }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try value(type) }

    func decode(_ type: Int128.Type) throws -> Int128 { try value(type) }

    func decode(_ type: UInt128.Type) throws -> UInt128 { try value(type) }
}
