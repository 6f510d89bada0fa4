import CryptoKit
import Foundation
import ObservableStorage
import Security

// The code of the article about secrets.

nonisolated private let applicationKey = SymmetricKey(size: .bits256)

nonisolated struct Account: Codable, Sendable {
    var name: String
}

// snippet: Secrets
nonisolated extension StorageCipher {
    static func aesGCM(_ key: SymmetricKey) -> StorageCipher {
        StorageCipher(
            seal: { data in
                guard let sealed = try AES.GCM.seal(data, using: key).combined else { throw CryptoKitError.incorrectParameterSize }
                return sealed
            },
            open: { try AES.GCM.open(AES.GCM.SealedBox(combined: $0), using: key) })
    }
}
// end

// snippet: Secrets
struct SealedKeys: KeyGroup {
    let token: StorageKey<String?>
    let account: StorageKey<Account?>

    init() {
        let cipher = StorageCipher.aesGCM(applicationKey)
        token = StorageKey("token", codec: .native.sealed(by: cipher)).secret()
        account = StorageKey("account", codec: .json.sealed(by: cipher)).secret()
    }
}
// end

// snippet: Secrets
struct KeychainError: Error {
    let status: OSStatus
}

nonisolated struct KeychainItem: Sendable {
    let service: String

    private var query: [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecUseDataProtectionKeychain: true]
    }

    func read() throws -> Data? {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query.merging([kSecReturnData: true]) { $1 } as CFDictionary, &result)
        if status == errSecItemNotFound { return nil }
        guard status == errSecSuccess, let data = result as? Data else { throw KeychainError(status: status) }
        return data
    }

    func write(_ data: Data) throws {
        let attributes: [CFString: Any] = [kSecValueData: data, kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlock]
        var status = SecItemUpdate(query as CFDictionary, attributes as CFDictionary)
        if status == errSecItemNotFound { status = SecItemAdd(query.merging(attributes) { $1 } as CFDictionary, nil) }
        guard status == errSecSuccess else { throw KeychainError(status: status) }
    }
}
// end

// snippet: Secrets
func openSecrets() throws -> ObservableStore {
    let item = KeychainItem(service: "org.example.app")
    let backend = DictionaryBackend(name: "keychain") {
        try item.read().flatMap { try PropertyListValue.decode($0).value.dictionary } ?? [:]
    } set: { entries in
        try item.write(PropertyListValue.dictionary(entries.values).encoded(as: .binary))
    }
    return try ObservableStore(backend: backend)
}
// end
