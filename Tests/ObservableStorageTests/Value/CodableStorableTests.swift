import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct Account: Codable, CodableStorable, Hashable {
    var name: String
    var visits = 0
    var plan: Plan?
}

private enum Plan: String, CodableStorable { case free, paid }

/// A value that counts how often it is decoded.
private struct Counted: CodableStorable {
    static let decodings = Recorder<Int>()
    let number: Int

    init(_ number: Int) {
        self.number = number
    }

    init(from decoder: any Decoder) throws {
        number = try decoder.singleValueContainer().decode(Int.self)
        Self.decodings.record(number)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(number)
    }
}

@Suite("CodableStorable", .timeLimit(.minutes(10)))
struct CodableStorableTests {
    private let account = Account(name: "Jo", visits: 3, plan: .paid)
    private let stored: PropertyListValue = ["name": "Jo", "visits": 3, "plan": "paid"]

    @Test(
        "A value is stored as a native structure and read back equal, by itself and in collections", arguments: PropertyListFormat.allCases)
    func roundTrip(format: PropertyListFormat) async throws {
        let one = StorageKey("one", default: Account(name: ""))
        let optional = StorageKey<Account?>("optional")
        let list = StorageKey("list", default: [Account]())
        let named = StorageKey("named", default: [String: Account]())
        let all = StorageKey("all", default: Set<Account>())
        let plan = StorageKey("plan", default: Plan.free)
        let folder = try TemporaryFolder.inMemory()
        let file = folder.file("accounts.plist")
        try PropertyListValue.dictionary([:]).encoded(as: format).write(to: file)
        let store = try ObservableStore(at: file)
        try await store.update { transaction in
            transaction[one] = account
            transaction[optional] = account
            transaction[list] = [account]
            transaction[named] = ["a": account]
            transaction[all] = [account]
            transaction[plan] = .paid
        }
        try await store.close()
        let written = try PropertyListValue.decode(Data(contentsOf: file))
        #expect(written.format == format)
        #expect(
            written.value
                == ["one": stored, "optional": stored, "list": [stored], "named": ["a": stored], "all": [stored], "plan": "paid"])
        let other = try ObservableStore(at: file)
        #expect(other[one] == account)
        #expect(other[optional] == account)
        #expect(other[list] == [account])
        #expect(other[named] == ["a": account])
        #expect(other[all] == [account])
        #expect(other[plan] == .paid)
        other[optional] = nil
        #expect(!other.isSet(optional))
        try await other.close()
    }

    @Test("A stored structure that is not a value of the type is an error that names the type, and is kept")
    func refusal() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        store[StorageKey<PropertyListValue?>("accounts")] = [stored, ["name": 1]]
        let error = #expect(throws: StorageError.self) { try store.value(for: StorageKey("accounts", default: [Account]())) }
        guard case .undecodable(key: "accounts[1]", expected: "Account", let found, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.hasPrefix("dictionary, which was refused: "))
        #expect(store.entries["accounts"] == [stored, ["name": 1]])
    }

    @Test("A value is decoded again only if what is stored has changed")
    func caching() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let optional = StorageKey<Counted?>("count")
        let list = StorageKey("list", default: [Counted]())
        store[StorageKey<Int?>("count")] = 1
        store[StorageKey<[Int]?>("list")] = [2, 3]
        for _ in 0..<10 {
            #expect(store[optional]?.number == 1)
            #expect(store[list].map(\.number) == [2, 3])
        }
        #expect(Counted.decodings.elements.sorted() == [1, 2, 3])
    }
}
