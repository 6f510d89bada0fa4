import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage
@testable import UserDefaultsStorage

/// The codec that converts like Foundation's user defaults, which is the oracle.
@Suite("Lenient values", .timeLimit(.minutes(10)))
struct LenientCodecTests {
    private func read<Value: Storable>(_ stored: PropertyListValue, as type: Value.Type = Value.self) -> Value? {
        do { return try StorageCodec<Value>.lenient.decode(stored) } catch { return nil }
    }

    private static let stored: [PropertyListValue] = [
        42, 0, 1, -7, 1.0, 0.0, 1.5, 1e300, true, false, "42", " 42 ", "1.5", "1.0", "1e3", "-7", "YES", "no", "true", "True", "FALSE", "y",
        "n",
        "1", "0", "abc", "12abc", "", "0x10", "on", "nan", "inf", "9223372036854775808", .date(Date(timeIntervalSinceReferenceDate: 1)),
        .data(Data([1])), [1], ["a": 1],
    ]

    // Values that Foundation converts with a loss of information, which are errors here.
    private static let refusedIntegers: [PropertyListValue] = [
        1.5, 1e300, "1.5", "YES", "no", "true", "True", "FALSE", "y", "n", "abc", "12abc", "", "0x10", "on", "nan", "inf",
        "9223372036854775808",
    ]
    private static let refusedReals: [PropertyListValue] = [
        "YES", "no", "true", "True", "FALSE", "y", "n", "abc", "12abc", "", "0x10", "on", "nan", "inf",
    ]
    private static let refusedBooleans: [PropertyListValue] = [
        42, -7, 1.5, 1e300, "42", " 42 ", "1.5", "1e3", "-7", "abc", "12abc", "", "0x10", "on", "nan", "inf", "9223372036854775808",
    ]
    // Foundation reads this one differently, on Linux.
    private static let betterIntegers: [PropertyListValue: Int] = ["1e3": 1_000]
    private static let betterBooleans: [PropertyListValue: Bool] = [:]

    private func isScalar(_ value: PropertyListValue) -> Bool {
        switch value {
        case .date, .data, .array, .dictionary, .uid: false
        default: true
        }
    }

    @Test("Every stored type is read as Foundation reads it, unless that loses information", arguments: stored)
    func oracle(stored: PropertyListValue) throws {
        let domain = TemporaryDomain()
        let defaults = try domain.defaults
        defaults.set(stored.foundation, forKey: "key")
        let isScalar = isScalar(stored)
        let integer = Self.betterIntegers[stored] ?? defaults.integer(forKey: "key")
        #expect(read(stored) == (isScalar && !Self.refusedIntegers.contains(stored) ? integer : nil))
        #expect(read(stored) == (isScalar && !Self.refusedReals.contains(stored) ? defaults.double(forKey: "key") : nil))
        #expect(read(stored) == (isScalar && !Self.refusedBooleans.contains(stored) ? defaults.bool(forKey: "key") : nil))
        #expect(read(stored) == defaults.string(forKey: "key"))
    }

    @Test("A key reads other types, writes its own, and reports what it cannot read")
    func key() async throws {
        let backend = InMemoryBackend(["port": "8080", "isOn": "YES", "name": 42, "limit": "12abc", "count": "300"])
        let store = try ObservableStore(backend: backend)
        let port = StorageKey("port", codec: .lenient, default: 80)
        #expect(store[port] == 8080)
        #expect(store[StorageKey("isOn", codec: .lenient, default: false)])
        #expect(store[StorageKey<String?>("name", codec: .lenient)] == "42")
        store[port] += 1
        try await store.flush()
        #expect(backend.load().values["port"] == 8081)
        #expect(throws: StorageError.undecodable(key: "limit", expected: "Int", found: "string \"12abc\"")) {
            try store.value(for: StorageKey("limit", codec: .lenient, default: 0))
        }
        #expect(throws: StorageError.self) { try store.value(for: StorageKey<UInt8>("count", codec: .lenient, default: 0)) }
    }
}

@Suite("URLs of user defaults", .timeLimit(.minutes(10)))
struct URLCodecTests {
    private let codec = StorageCodec<URL>.userDefaults

    @Test(
        "Foundation reads what is written, and it reads back",
        arguments: ["https://example.org/a%20b?c=d#e", "mailto:jo@example.org", "file:///tmp/a%20b", "file:///tmp/folder/"])
    func written(text: String) throws {
        let url = try #require(URL(string: text))
        let stored = try codec.encode(url)
        let domain = TemporaryDomain()
        let defaults = try domain.defaults
        defaults.set(stored.foundation, forKey: "key")
        let read = try #require(defaults.url(forKey: "key"))
        if url.isFileURL {
            #expect(read.path == url.path && read.isFileURL)
            #expect(try codec.decode(stored).path == url.path)
        } else {
            #expect(read == url)
            #expect(try codec.decode(stored) == url)
        }
    }

    @Test("Archives of Foundation are read, also of relative URLs")
    func archives() throws {
        let base = try #require(URL(string: "https://example.org/a/"))
        for url in [base, try #require(URL(string: "b?c", relativeTo: base))] {
            let data = try NSKeyedArchiver.archivedData(withRootObject: url as NSURL, requiringSecureCoding: true)
            #expect(try codec.decode(.data(data)) == url.absoluteURL)
        }
    }

    @Test("Paths and absolute strings are read")
    func texts() throws {
        #expect(try codec.decode("/tmp/a b").path == "/tmp/a b")
        #expect(try codec.decode("~/a b").path == URL.homeDirectory.appending(path: "a b").path)
        #expect(try codec.decode("~").path == URL.homeDirectory.path)
        #expect(try codec.decode("https://example.org") == URL(string: "https://example.org"))
        #expect(try codec.decode("file:///tmp/a").path == "/tmp/a")
    }

    @Test(
        "Other values are errors",
        arguments: ["relative", "", 1, .data(Data([1])), .data(Data("bplist00".utf8))] as [PropertyListValue])
    func refused(stored: PropertyListValue) {
        #expect(throws: (any Error).self) { try codec.decode(stored) }
    }

    @Test("A malformed archive is an error: without objects, with a cycle, or with a number out of range")
    func malformed() throws {
        func archive(_ objects: PropertyListValue, root: UInt64 = 1) throws -> PropertyListValue {
            .data(try PropertyListValue.dictionary(["$top": ["root": .uid(root)], "$objects": objects]).encoded(as: .binary))
        }
        let cycle: PropertyListValue = ["$null", ["NS.base": .uid(1), "NS.relative": .uid(2)], "b"]
        for stored in [try archive([]), try archive(cycle), try archive(["$null"], root: .max), try archive("text")] {
            #expect(throws: (any Error).self) { try codec.decode(stored) }
        }
    }
}
