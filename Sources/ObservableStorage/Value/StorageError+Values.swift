import PropertyListCoding

extension StorageError {
    /// What decoding threw, as an error about a key: its place inside the value is added to the key's name.
    static func undecodable(
        key: String, as type: Any.Type, stored: PropertyListValue, because error: any Error
    ) -> StorageError {
        let mismatch = DecodingMismatch(error, decoding: stored, as: type)
        return .undecodable(key: "\(key)\(mismatch.path)", expected: mismatch.expected, found: mismatch.found)
    }

    /// What encoding threw, as an error about a key: its place inside the value is added to the key's name.
    static func unencodable(key: String, because error: any Error) -> StorageError {
        let refusal = EncodingRefusal(error)
        return .unencodable(key: "\(key)\(refusal.path)", reason: refusal.reason)
    }
}
