import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct Account: Codable, Equatable, Sendable {
    var name: String
    var visits: Int
    var isAdmin = false
    var ratio = 0.5
    var site: URL?
    var joined = Date(timeIntervalSinceReferenceDate: 100.25)
}

private enum Plan: String, Sendable { case free, paid }

@Suite("Codecs", .timeLimit(.minutes(10)))
struct StorageCodecTests {
    private let account = Account(name: "Jo", visits: 3, site: URL(string: "https://example.org/a%20b?q=1#f"))
    private let store: ObservableStore

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    @Test("A JSON-coded value is read back equal; equal values are stored identically, and nil removes")
    func json() throws {
        let key = StorageKey<Account?>("account", codec: .json)
        store[key] = account
        #expect(store[key] == account)
        guard case .data(let data)? = store.entries["account"] else {
            Issue.record("\(store.entries)")
            return
        }
        #expect(try JSONDecoder().decode(Account.self, from: data) == account)
        let revision = store.revision
        for _ in 0..<10 { store[key] = account }
        #expect(store.revision == revision)
        store[key] = nil
        #expect(store.entries.isEmpty)
    }

    @Test("A date or data as text is read back equal, and what was stored without the codec is read")
    func text() throws {
        let (date, data) = (
            StorageKey("date", codec: .iso8601, default: Date.distantPast), StorageKey("data", codec: .base64, default: Data())
        )
        let moment = Date(timeIntervalSinceReferenceDate: 100.1)
        store[date] = moment
        store[data] = Data([0, 255])
        #expect(store.entries == ["date": .string(moment.iso8601), "data": "AP8="])
        #expect((store[date], store[data]) == (moment, Data([0, 255])))
        for (stored, expected) in [("2001-01-01T01:00:00+01:00", 0), (.date(Date(timeIntervalSinceReferenceDate: 5)), 5)]
            as [(PropertyListValue, Double)]
        {
            store[StorageKey<PropertyListValue?>("date")] = stored
            #expect(store[date] == Date(timeIntervalSinceReferenceDate: expected))
        }
        store[StorageKey<PropertyListValue?>("data")] = .data(Data([7]))
        #expect(store[data] == Data([7]))
        for (key, stored) in [("date", "yesterday"), ("date", 5), ("data", "*"), ("data", true)] as [(String, PropertyListValue)] {
            store[StorageKey<PropertyListValue?>(key)] = stored
            #expect(throws: StorageError.self) { _ = key == "date" ? try store.value(for: date) as Any : try store.value(for: data) }
        }
        let account = StorageKey<Account?>("account", codec: StorageCodec.json.then(.base64))
        store[account] = self.account
        guard case .string? = store.entries["account"] else {
            Issue.record("\(store.entries)")
            return
        }
        #expect(store[account] == self.account)
    }

    @Test("JSON stored as a string is also read")
    func jsonText() throws {
        store[StorageKey<String?>("plain")] = "[1,2]"
        #expect(store[StorageKey("plain", codec: .json, default: [Int]())] == [1, 2])
    }

    @Test("A property-list-coded value is stored as a native structure, including single values")
    func propertyList() throws {
        let key = StorageKey("account", codec: .propertyList, default: Account(name: "", visits: 0))
        store[key] = account
        #expect(store[key] == account)
        #expect(
            store.entries["account"]
                == .dictionary([
                    "name": "Jo", "visits": 3, "isAdmin": false, "ratio": 0.5, "joined": .date(account.joined),
                    "site": "https://example.org/a%20b?q=1#f",
                ]))
        let lone = StorageKey("lone", codec: .propertyList, default: 0)
        store[lone] = 7
        #expect(store.entries["lone"] == 7)
        #expect(store[lone] == 7)
    }

    @Test("A raw value is stored directly; an unknown one is kept, and readers have the last known one")
    func rawValue() throws {
        let key = StorageKey("plan", codec: .rawValue, default: Plan.free)
        store[key] = .paid
        #expect(store.entries == ["plan": "paid"])
        #expect(store[key] == .paid)
        store[StorageKey<String?>("plan")] = "gold"
        #expect(store[key] == .paid)
        #expect(throws: StorageError.self) { try store.value(for: key) }
        #expect(store.entries == ["plan": "gold"])
    }

    @Test("Codecs compose: the stored value of one is the value of the next")
    func composition() throws {
        let reversed = StorageCodec<Data>.custom(
            encode: { .data(Data($0.reversed())) },
            decode: { stored in
                guard case .data(let data) = stored else { throw CocoaError(.coderReadCorrupt) }
                return Data(data.reversed())
            })
        let key = StorageKey<Account?>("account", codec: .json.then(reversed))
        store[key] = account
        #expect(store[key] == account)
        guard case .data(let data)? = store.entries["account"] else {
            Issue.record("\(store.entries)")
            return
        }
        #expect(try JSONDecoder().decode(Account.self, from: Data(data.reversed())) == account)
    }

    @Test("Invalid elements fail an array, and are omitted from a lossy one, but stay stored")
    func lossy() throws {
        let stored: PropertyListValue = [1, "two", 3]
        store[StorageKey<PropertyListValue?>("list")] = stored
        #expect(store[StorageKey("list", default: [9])] == [9])
        #expect(store[StorageKey("list", codec: .lossy(), default: [9])] == [1, 3])
        #expect(store.entries["list"] == stored)
    }

    @Test("A value is decoded again only if the stored value has changed")
    func caching() throws {
        let decodings = Recorder<Int>()
        let codec = StorageCodec<Int>.custom(
            encode: { .string(String($0)) },
            decode: { stored in
                guard case .string(let text) = stored, let number = Int(text) else { throw CocoaError(.coderReadCorrupt) }
                decodings.record(number)
                return number
            })
        let key = StorageKey("count", codec: codec, default: 0)
        store[key] = 1
        for _ in 0..<10 { #expect(store[key] == 1) }
        store[key] = 2
        for _ in 0..<10 { #expect(store[key] == 2) }
        #expect(decodings.elements == [1, 2])
    }

    @Test("Observers receive the decoded value, and are notified when it cannot be decoded")
    func observers() throws {
        let key = StorageKey<Account?>("account", codec: .json)
        let seen = Recorder<Change<Account?>>()
        let token = store.addUpdateListener(for: key) { seen.record($0) }
        store[key] = account
        store[StorageKey<Data?>("account")] = Data("nonsense".utf8)
        #expect(seen.elements.map(\.newValue) == [account, account])
        #expect(seen.elements.first?.kind == .set)
        guard case .undecodable? = seen.elements.last?.kind else {
            Issue.record("\(seen.elements)")
            return
        }
        withExtendedLifetime(token) {}
    }

    @Test("An encoder that throws makes the setter throw, and removes nothing")
    func encodingFailure() throws {
        let key = StorageKey("real", codec: .json, default: 1.0)
        try store.set(2, for: key)
        #expect(throws: StorageError.self) { try store.set(.nan, for: key) }
        #expect(store[key] == 2)
    }

    @Test("jsonText stores JSON as a string, and reads it as data as well, as json reads a string")
    func jsonTextForm() {
        let (text, data) = (StorageKey<Account?>("account", codec: .jsonText), StorageKey<Account?>("account", codec: .json))
        store[data] = account
        let bytes = store.entries["account"]?.data
        #expect(store[text] == account)
        store[text] = account
        #expect(store.entries["account"]?.string.map { Data($0.utf8) } == bytes)
        #expect(store[data] == account)
        store[text] = nil
        #expect(store.entries == [:])
    }
}
