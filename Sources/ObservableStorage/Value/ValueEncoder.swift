import FoundationSubset
import PropertyListCoding

/// Encodes a `Codable` value as a property-list value, in the structure that `PropertyListEncoder` writes, except that standard types, and
/// others that are ``Storable``, have their stored form in it. Nil is no entry.
final class ValueEncoder: Encoder {
    private enum Content { case nothing, single, array, dictionary }

    let codingPath: [any CodingKey]
    let userInfo: [CodingUserInfoKey: Any] = [:]

    private var content = Content.nothing
    // Nil if nil was encoded.
    private var single: PropertyListValue?
    fileprivate var elements: [PropertyListValue] = []
    fileprivate var entries: [String: PropertyListValue] = [:]
    // Nested containers, and encoders of superclasses: they may be written to until everything else has been encoded.
    private var nested: [(key: any CodingKey, encoder: ValueEncoder)] = []
    private var nestedIndices: [String: Int] = [:]
    private var isMisused = false

    private init(_ codingPath: [any CodingKey]) {
        self.codingPath = codingPath
    }

    static func encode<Value: Encodable>(_ value: Value) throws -> PropertyListValue {
        if usesStoredForm(asWhole: Value.self), let storable = value as? any Storable { return try storable.propertyListValue }
        let encoder = ValueEncoder([])
        try value.encode(to: encoder)
        guard let encoded = try encoder.finish() else { throw CodingFailure("a property list cannot hold nil") }
        return encoded
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        use(.dictionary)
        return KeyedEncodingContainer(EntryEncoder(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        use(.array)
        return ElementEncoder(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        use(.single)
        return self
    }

    // A type and its superclass may ask for the same container. Asking cannot throw, so that encoding does at its end.
    private func use(_ content: Content) {
        if self.content != .nothing && self.content != content { isMisused = true }
        self.content = content
    }

    /// Encodes a value inside this one; nil if it is nil.
    fileprivate func encoded<Value: Encodable>(_ value: Value, at key: (any CodingKey)?) throws -> PropertyListValue? {
        if usesStoredForm(Value.self), let storable = value as? any Storable {
            do {
                return try storable.propertyListValue
            } catch {
                let failure = CodingFailure(encoding: error)
                // That of a value inside, whose text would double with each level if it were both the reason and the cause.
                if case .invalidValue(let value, let inner)? = failure.underlying?.error as? EncodingError {
                    let path = path(to: key) + [ElementKey.step(failure.path)] + inner.codingPath
                    throw EncodingError.invalidValue(
                        value, EncodingError.Context(codingPath: path, debugDescription: inner.debugDescription))
                }
                throw self.failure("\(failure)", value, at: key, because: failure.underlying?.error)
            }
        }
        let encoder = ValueEncoder(path(to: key))
        guard encoder.codingPath.count <= DecodingLimits.depth else {
            throw failure("arrays and dictionaries are nested more than \(DecodingLimits.depth) deep", value, at: key)
        }
        try value.encode(to: encoder)
        return try encoder.finish()
    }

    fileprivate func append(_ value: PropertyListValue?, _ original: Any?) throws {
        guard let value else { throw failure("a property list cannot hold nil", original as Any, at: ElementKey.index(elements.count)) }
        elements.append(value)
    }

    /// The encoder for a part of this value: the same one if a class and its superclass ask for the same entry.
    fileprivate func encoder(at key: any CodingKey) -> ValueEncoder {
        if content == .dictionary, let earlier = nestedIndices[key.stringValue] { return nested[earlier].encoder }
        let encoder = ValueEncoder(path(to: key))
        nestedIndices[key.stringValue] = nested.count
        nested.append((key, encoder))
        return encoder
    }

    /// The encoder for the next element, whose place is kept.
    fileprivate func encoderOfNextElement() -> ValueEncoder {
        defer { elements.append([:]) }
        return encoder(at: ElementKey.index(elements.count))
    }

    private func finish() throws -> PropertyListValue? {
        if isMisused { throw failure("its encoding uses containers of different kinds for one value", self, at: nil) }
        for (key, encoder) in nested {
            let value = try encoder.finish()
            if let index = key.intValue, content == .array {
                guard let value else { throw failure("a property list cannot hold nil", self, at: key) }
                elements[index] = value
            } else {
                entries[key.stringValue] = value
            }
        }
        return switch content {
        case .single: single
        case .array: .array(elements)
        case .dictionary, .nothing: .dictionary(entries)
        }
    }

    private func path(to key: (any CodingKey)?) -> [any CodingKey] {
        key.map { codingPath + [$0] } ?? codingPath
    }

    private func failure(_ reason: String, _ value: Any, at key: (any CodingKey)?, because error: (any Error)? = nil) -> EncodingError {
        .invalidValue(value, EncodingError.Context(codingPath: path(to: key), debugDescription: reason, underlyingError: error))
    }
}

// The generic `encode` is the one of each primitive type, too, except those for which the protocol has one that throws.
private struct EntryEncoder<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }

    func encodeNil(forKey key: Key) { encoder.entries[key.stringValue] = nil }

    func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        encoder.entries[key.stringValue] = try encoder.encoded(value, at: key)
    }

    func encode(_ value: Int128, forKey key: Key) throws { encoder.entries[key.stringValue] = try value.propertyListValue }

    func encode(_ value: UInt128, forKey key: Key) throws { encoder.entries[key.stringValue] = try value.propertyListValue }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        encoder.encoder(at: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer { encoder.encoder(at: key).unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.encoder(at: ElementKey.superclass) }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.encoder(at: key) }
}

private struct ElementEncoder: UnkeyedEncodingContainer {
    let encoder: ValueEncoder

    var codingPath: [any CodingKey] { encoder.codingPath }
    var count: Int { encoder.elements.count }

    func encodeNil() throws { try encoder.append(nil, nil) }

    func encode<Value: Encodable>(_ value: Value) throws {
        try encoder.append(encoder.encoded(value, at: ElementKey.index(count)), value)
    }

    func encode(_ value: Int128) throws { encoder.elements.append(try value.propertyListValue) }

    func encode(_ value: UInt128) throws { encoder.elements.append(try value.propertyListValue) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.encoderOfNextElement().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.encoderOfNextElement().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.encoderOfNextElement() }
}

extension ValueEncoder: SingleValueEncodingContainer {
    func encodeNil() { single = nil }

    func encode<Value: Encodable>(_ value: Value) throws { single = try encoded(value, at: nil) }

    func encode(_ value: Int128) throws { single = try value.propertyListValue }

    func encode(_ value: UInt128) throws { single = try value.propertyListValue }
}
