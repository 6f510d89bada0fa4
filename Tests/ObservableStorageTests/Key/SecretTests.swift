import Foundation
@testable import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private let secret = "correct horse battery staple"

private struct Refused: Error, CustomStringConvertible {
    let description: String
}

private struct VaultKeys: KeyGroup {
    let host = StorageKey("host", default: "localhost")
    let token = StorageKey<String?>("vaultToken").secret()
    let pin = StorageKey("vaultPin", default: 0).secret().validated(in: 0...9_999)
    let nested = InnerKeys()
}

private struct InnerKeys: KeyGroup {
    let prefix: String? = "vault"
    let password = StorageKey("password", default: "").secret()
    let path = StorageKey<String?>("vaultServer", "password").secret()
}

/// A rule whose error has the values.
private struct PairKeys: KeyGroup {
    let name = StorageKey("pairName", default: "")
    let password = StorageKey("pairPassword", default: "").secret()

    func validate(_ snapshot: KeyedSnapshot<PairKeys>) throws {
        if snapshot.password == snapshot.name, !snapshot.name.isEmpty { throw Refused(description: "\(snapshot.password) is the name") }
        if snapshot.name == "root" { throw Refused(description: "root has no password") }
    }
}

private func refuse<Value, Result>(_: Value) throws -> Result {
    throw Refused(description: secret)
}

/// All texts that can be made of a value.
private func describe(_ value: Any) -> String {
    var text = "\(value)\n" + String(reflecting: value) + "\n"
    dump(value, to: &text)
    return text
}

@Suite("Secrets", .timeLimit(.minutes(10)))
struct SecretTests {
    private let backend = InMemoryBackend()
    private let store: ObservableStore
    private let settings: KeyedStore<VaultKeys>

    init() throws {
        store = try ObservableStore(backend: backend)
        settings = KeyedStore(store)
    }

    private func fill() {
        settings.host = "example.org"
        settings.token = secret
        settings.nested.password = secret
        settings.nested.path = secret
    }

    @Test("A secret is stored, read and observed like any other value")
    func value() async throws {
        fill()
        try await store.flush()
        #expect(settings.token == secret)
        #expect(settings.snapshot.token == secret)
        #expect(backend.load()["vaultToken"] == .string(secret))
        #expect(settings.key(\.token).isSecret)
        #expect(!settings.key(\.host).isSecret)
    }

    @Test("No text of a store, a group, a snapshot, a key or a handle has it")
    func texts() async throws {
        fill()
        try await store.flush()
        _ = (settings.token, settings.nested.path)
        let everything: [Any] = [
            store, settings, settings.snapshot, settings.nested.snapshot, store.snapshot, settings.key(\.token), settings.stored(\.token),
            settings.nested.stored(\.path), ObservableValues(settings), VaultKeys(), Persisted(settings.key(\.token), in: store),
            SceneStore(sceneID: "one", base: store), backend, backend.load(), try #require(await backend.commits(since: nil)),
            settings.storedValues,
        ]
        for value in everything { #expect(!describe(value).contains(secret), "\(type(of: value))") }
        store.edit { transaction in #expect(!describe(transaction).contains(secret)) }
        try await store.update { transaction in #expect(!describe(transaction).contains(secret)) }
    }

    @Test("What is a secret of the application is one in every scene, also in one that this process does not use")
    func scenes() async throws {
        SceneStore(sceneID: "one", base: store)[settings.key(\.token)] = secret
        try await store.flush()
        _ = try backend.edit { $0["scenes/other/vault~1password"] = .string(secret) }
        try await store.reload()
        #expect(store.snapshot.entries.values.count { $0 == .string(secret) } == 2)
        // Other tests have other names.
        for number in 0..<1_000 { SceneStore(sceneID: "\(number)", base: store)[settings.key(\.token)] = secret }
        #expect(SecretNames.names.withLock { $0.count } < 1_000)
        for value in [store.snapshot, backend.load(), try #require(await backend.commits(since: nil))] as [Any] {
            #expect(!describe(value).contains(secret), "\(type(of: value))")
        }
    }

    @Test("A snapshot is printed with its values, a secret as <redacted>")
    func snapshot() {
        settings.host = "example.org"
        settings.token = secret
        let text = "\(settings.snapshot)"
        #expect(text.contains("host: \"example.org\""))
        #expect(text.contains("vaultToken: \"<redacted>\""))
        #expect("\(store.snapshot)".contains("example.org"))
    }

    @Test("A change is printed without a secret, also one of all entries, and one of the past")
    func changes() async throws {
        let past = backend.load().revision
        var changes = settings.changes(of: \.token).makeAsyncIterator()
        var all = store.allChanges().makeAsyncIterator()
        settings.token = secret
        settings.host = "example.org"
        let change = try #require(await changes.next())
        #expect(change.newValue == secret)
        #expect(change.isSecret)
        let untyped = try #require(await all.next())
        #expect(untyped.newValue == .string(secret))
        let plain = try #require(await all.next())
        #expect(!plain.isSecret)
        #expect("\(plain)".contains("example.org"))
        try await store.flush()
        let revision = try #require(past)
        let stream = try #require(await store.changes(since: revision))
        var iterator = stream.makeAsyncIterator()
        let first = try #require(await iterator.next())
        let second = try #require(await iterator.next())
        for change in [untyped, first, second] where change.key == "vaultToken" {
            #expect(change.isSecret)
            #expect(!describe(change).contains(secret))
            #expect("\(change)".contains("newValue: \"<redacted>\""))
        }
        #expect(!describe(change).contains(secret))
        #expect(!describe(change as Any).contains(secret))
    }

    @Test("A change of a key that is not secret is printed with its values")
    func plainChange() {
        let change = Change(key: "count", oldValue: 1, newValue: 2, kind: .set, origin: .local, revision: 3)
        let text = "Change<Int>(key: \"count\", oldValue: 1, newValue: 2, kind: ObservableStorage.ChangeKind.set, "
        #expect("\(change)".hasPrefix(text))
    }

    @Test("A scene's own value is secret, too")
    func scene() throws {
        let scene = SceneStore(sceneID: "one", base: store)
        scene[settings.key(\.token)] = secret
        #expect(scene[settings.key(\.token)] == secret)
        for value in [store.snapshot, scene, store] as [Any] { #expect(!describe(value).contains(secret)) }
    }

    @Test("An error has neither the value, nor the error of a codec or a rule")
    func errors() async throws {
        let failing: [StorageKey<String>] = [
            StorageKey("failing", codec: .json, default: "").secret(),
            StorageKey("failing", codec: .custom(encode: { throw Refused(description: $0) }, decode: refuse), default: "").secret(),
            StorageKey("failing", default: "").secret().validated { throw Refused(description: $0) },
            StorageKey("failing", default: "").validated { throw Refused(description: $0) }.secret(),
            StorageKey("failing", default: "").secret().migrating(from: String.self) { _ in throw Refused(description: secret) }
                .validated { throw Refused(description: $0) },
            StorageKey("failing", codec: .native.sealed(by: StorageCipher(seal: refuse, open: refuse)), default: "").secret(),
        ]
        for key in failing {
            let store = try ObservableStore(backend: InMemoryBackend(["failing": .string(secret)]))
            var failures = store.failures.makeAsyncIterator()
            #expect(store[key] == "")
            var errors: [StorageError] = [try #require(await failures.next())]
            let undecodable = #expect(throws: StorageError.self) { try store.value(for: key) }
            errors.append(try #require(undecodable))
            do { try store.set(secret, for: key) } catch { errors.append(error) }
            for error in errors {
                #expect(!describe(error).contains(secret), "\(key.name)")
                #expect("\(error)".contains("\"failing\""))
            }
        }
    }

    @Test("An error tells the type, and the reason of a rule that is fixed")
    func reasons() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["vaultPin": 123_456, "vaultToken": 1234]))
        #expect(
            throws: StorageError.undecodable(
                key: "vaultPin", expected: "Int", found: "integer <redacted>, which was refused: it is not in 0...9999")
        ) { try store.value(for: VaultKeys().pin) }
        #expect(throws: StorageError.undecodable(key: "vaultToken", expected: "Optional<String>", found: "integer <redacted>")) {
            try store.value(for: VaultKeys().token)
        }
        let long = StorageKey("vaultWord", default: "").secret().validated("it must have 8 characters") { $0.count == 8 }
        #expect(
            throws: StorageError.unencodable(
                key: "vaultWord", reason: "the value <redacted>, which was refused: it must have 8 characters")
        ) { try store.set(secret, for: long) }
        let coded = StorageKey<Int>("vaultCoded", codec: .json, default: 0).secret()
        store[StorageKey<String?>("vaultCoded")] = secret
        #expect(
            throws: StorageError.undecodable(
                key: "vaultCoded", expected: "Int", found: "string <redacted>, which was refused: DecodingError")
        ) { try store.value(for: coded) }
    }

    @Test("The path inside a secret, and what is in its place, are in no error")
    func paths() throws {
        let list = StorageKey<[String: [Int]]>("vaultList", default: [:]).secret()
        let store = try ObservableStore(backend: InMemoryBackend(["vaultList": [secret: [1, "two"]], "vaultServer": .string(secret)]))
        let error = #expect(throws: StorageError.self) { try store.value(for: list) }
        #expect(!describe(try #require(error)).contains(secret))
        let inner = #expect(throws: StorageError.self) { try store.set("new", for: InnerKeys().path) }
        #expect(!describe(try #require(inner)).contains(secret))
    }

    @Test("The error of a group's rule has its reason, unless that contains a secret")
    func group() async throws {
        let pair = KeyedStore<PairKeys>(store)
        pair.name = secret
        let error = #expect(throws: StorageError.self) { try pair.stored(\.password).set(secret) }
        #expect(error == .invalidGroup(group: "PairKeys", reason: "Refused <redacted>"))
        try pair.stored(\.password).set("another")
        let other = #expect(throws: StorageError.self) { try pair.stored(\.name).set("root") }
        #expect(other == .invalidGroup(group: "PairKeys", reason: "root has no password"))
    }

    @Test("A list of settings has <redacted>, which a secret cannot be set to, and errors do not quote what was typed")
    func list() throws {
        fill()
        let setting = try #require(settings.storedValues.first { $0.name == "vaultToken" })
        #expect(setting.isSecret)
        #expect(try setting.value == "<redacted>")
        #expect(try setting.defaultValue == nil)
        #expect(throws: StorageError.self) { try setting.set(text: "<redacted>") }
        #expect(throws: StorageError.self) { try setting.set("<redacted>") }
        #expect(settings.token == secret)
        try setting.set(text: "another")
        #expect(settings.token == "another")
        setting.remove()
        #expect(try setting.value == nil)
        let pin = try #require(settings.storedValues.first { $0.name == "vaultPin" })
        for text in [secret, "123456"] {
            let error = #expect(throws: StorageError.self) { try pin.set(text: text) }
            #expect(!describe(try #require(error)).contains(text))
        }
        #expect(try pin.value == "<redacted>")
        #expect(try settings.storedValues.first { $0.name == "host" }?.value == "example.org")
    }

    @Test("Renamed, nested and prefixed keys are secret under all of their names")
    func names() throws {
        struct Renamed: KeyGroup {
            let prefix: String? = "renamed"
            let token = StorageKey<String?>("new").secret().renamed(from: "old")
        }
        let store = try ObservableStore(backend: InMemoryBackend(["renamed/old": .string(secret)]))
        #expect(KeyedStore<Renamed>(store).token == secret)
        #expect(!describe(store.snapshot).contains(secret))
    }
}

@Suite("Sealed values", .timeLimit(.minutes(10)))
struct SealedCodecTests {
    /// No cipher: for tests.
    private static func cipher(_ key: UInt8) -> StorageCipher {
        StorageCipher(
            seal: { Data([key]) + Data($0.map { $0 ^ key }) },
            open: { data in
                guard data.first == key else { throw Refused(description: "another key") }
                return Data(data.dropFirst().map { $0 ^ key })
            })
    }

    private struct Account: Codable, Equatable, Sendable {
        var name: String
    }

    @Test("Values are encrypted in the file, and read with the key")
    func sealed() throws {
        let backend = InMemoryBackend()
        let store = try ObservableStore(backend: backend)
        let token = StorageKey<String?>("token", codec: .native.sealed(by: Self.cipher(7)))
        let account = StorageKey<Account?>("account", codec: .json.sealed(by: Self.cipher(7)))
        let text = StorageKey<Int>("text", codec: .native.sealed(by: Self.cipher(7)).then(StorageCodec<Data>.native), default: 0)
        store[token] = secret
        store[account] = Account(name: secret)
        store[text] = 5
        let again = try ObservableStore(backend: InMemoryBackend(store.entries))
        #expect(again[token] == secret)
        #expect(again[account] == Account(name: secret))
        #expect(again[text] == 5)
        for (_, value) in store.entries {
            let data = try #require(value.data)
            #expect(data.range(of: Data(secret.utf8)) == nil)
        }
        store[token] = nil
        #expect(store.entries["token"] == nil)
    }

    @Test("With another key, or a value that is not encrypted, reading has the default, and the stored value is kept")
    func refused() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        store[StorageKey<String?>("token", codec: .native.sealed(by: Self.cipher(7)))] = secret
        let stored = store.entries["token"]
        let other = StorageKey<String?>("token", codec: .native.sealed(by: Self.cipher(8)))
        #expect(store[other] == nil)
        let error = #expect(throws: StorageError.self) { try store.value(for: other) }
        #expect("\(try #require(error))".contains("another key"))
        #expect(store.entries["token"] == stored)
        store[StorageKey<String?>("plain")] = secret
        let plain = StorageKey<String?>("plain", codec: .native.sealed(by: Self.cipher(7)))
        #expect(throws: StorageError.undecodable(key: "plain", expected: "Data", found: "string")) { try store.value(for: plain) }
        #expect(store[plain.migrating(from: String.self) { $0 }] == secret)
    }

    @Test("What was decrypted is in no error")
    func errors() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        store[StorageKey<String?>("token", codec: .native.sealed(by: Self.cipher(7)))] = secret
        let number = StorageKey<UUID?>("token", codec: .native.sealed(by: Self.cipher(7)))
        let error = #expect(throws: StorageError.self) { try store.value(for: number) }
        #expect(!describe(try #require(error)).contains(secret))
    }
}
