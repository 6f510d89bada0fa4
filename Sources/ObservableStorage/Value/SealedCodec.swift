public import FoundationSubset
import PropertyListCoding

/// Encrypts data, and decrypts it: a cipher that the program brings, such as AES-GCM of CryptoKit.
public struct StorageCipher: Sendable {
    fileprivate let seal: @Sendable (Data) throws -> Data
    fileprivate let open: @Sendable (Data) throws -> Data

    /// Creates a cipher from two closures.
    ///
    /// - Parameters:
    ///   - seal: encrypts data; if it throws, what is stored is not changed.
    ///   - open: decrypts what `seal` returned; throws for anything else.
    public init(seal: @escaping @Sendable (Data) throws -> Data, open: @escaping @Sendable (Data) throws -> Data) {
        (self.seal, self.open) = (seal, open)
    }
}

extension StorageCodec {
    /// The same codec with its stored form encrypted, as data: `.json.sealed(by: cipher)`, or `.native.sealed(by: cipher)`
    /// for a ``Storable`` type; see <doc:Secrets>.
    ///
    /// The stored form is encrypted as a binary property list, which includes its type. Most ciphers return other data each time, so that
    /// setting an equal value is a change. No error quotes decrypted data; ``StorageKey/secret()`` keeps it out of other texts, too.
    public func sealed(by cipher: StorageCipher) -> StorageCodec {
        .custom(
            encode: { value in
                let stored: PropertyListValue
                do {
                    stored = try encode(value)
                } catch {
                    throw CodingFailure(encodingSecret: error)
                }
                return .data(try cipher.seal(stored.encoded(as: .binary)))
            },
            decode: { sealed in
                guard case .data(let data) = sealed else { throw CodingFailure(Data.self, sealed) }
                let stored = try PropertyListValue.decode(cipher.open(data)).value
                do {
                    return try decode(stored)
                } catch {
                    throw CodingFailure(error, decodingSecret: stored, as: Value.self)
                }
            })
    }
}
