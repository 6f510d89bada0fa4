import PropertyListCoding

// Values as text, for people, arguments and variables of the environment.
extension StorageKey {
    /// The value that a text stands for: one of an enumeration by its name, a string as it is, and others in the syntax of their type.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)``, which names what would be a text of the type.
    func value(ofText text: String) throws(StorageError) -> Value {
        var failure: StorageError?
        for stored in TextForm.readings(of: text, as: Value.self) {
            let value: Value
            do {
                value = try decodedText(stored)
            } catch {
                // Any text is a string, and often Base64 as well: these mismatches do not explain the error.
                switch stored {
                case .string, .data: continue
                default: failure = failure ?? undecodable(stored, because: error)
                }
                continue
            }
            return try validatedText(value, stored)
        }
        if let found = TextForm.value(named: text, of: Value.self), let value = found as? Value {
            return try validatedText(value, .string(text))
        }
        throw failure
            ?? .undecodable(
                key: name, expected: TextForm.expectation(of: Value.self, isText: true),
                found: isSecret ? "a text" : "the text \(text.briefQuotation)")
    }

    // Also the type's own stored form if the key has another codec: `a,b` is not the JSON that the key stores.
    private func decodedText(_ stored: PropertyListValue) throws -> Value {
        do {
            return try definition.traits.codec.decode(stored)
        } catch {
            guard !definition.traits.codec.isNative, let type = Value.self as? any Storable.Type,
                let value = try type.init(propertyListValue: stored) as? Value
            else { throw error }
            return value
        }
    }

    private func validatedText(_ value: Value, _ stored: PropertyListValue) throws(StorageError) -> Value {
        do { return try validated(value) } catch { throw undecodable(stored, because: error) }
    }

    private func undecodable(_ stored: PropertyListValue, because error: any Error) -> StorageError {
        let failure = StorageError.undecodable(key: name, as: Value.self, stored: stored, because: error, isSecret: isSecret)
        // An error inside the value names what is expected there.
        guard case .undecodable(name, _, let found, let underlying) = failure else { return failure }
        return .undecodable(
            key: name, expected: TextForm.expectation(of: Value.self, isText: true), found: found, underlying: underlying)
    }

    func text(of value: Value) throws(StorageError) -> String? {
        guard let stored = try stored(value) else { return nil }
        let texts: [String?] =
            switch stored {
            case .string: []
            // Mostly JSON, which is read from its text as well.
            case .data(let data): [String(validating: data, as: UTF8.self)]
            default: [(value as? any CaseIterable).map { "\($0)" }]
            }
        return (texts.compactMap { $0 } + [stored.bareText, stored.typedJSON]).first { isText($0, of: stored) } ?? stored.bareText
    }

    private func isText(_ text: String, of stored: PropertyListValue) -> Bool {
        do throws(StorageError) { return try self.stored(value(ofText: text)) == stored } catch { return false }
    }
}
