import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Keys of entries", .timeLimit(.minutes(10))) struct EntryKeysTests {
    private let keys = EntryKeys(prefix: "app")

    @Test("An entry's key is readable: the prefix, a slash and the name")
    func readable() {
        #expect(keys.key(of: "window.size") == Array("app/window.size".utf8))
        #expect(EntryKeys(prefix: "app/").key(of: "a") == Array("app/a".utf8))
        #expect(EntryKeys(prefix: "").key(of: "a") == Array("a".utf8))
    }

    @Test("Every name is read back from its key, byte by byte", arguments: ["a", "a/b", "é", "e\u{301}", "a\u{0}b", "😀", " "])
    func names(name: String) throws {
        let key = try #require(keys.key(of: name))
        guard case .entry(let read) = keys.meaning(of: key) else { return #expect(Bool(false), "not an entry") }
        #expect(Array(read.utf8) == Array(name.utf8))
    }

    @Test("Two names that are equal as strings and differ in their bytes have two different keys")
    func normalization() {
        #expect("é" == "e\u{301}")
        #expect(keys.key(of: "é") != keys.key(of: "e\u{301}"))
    }

    @Test("A name that begins with a NUL is reserved for the backend")
    func reserved() {
        #expect(keys.key(of: "\u{0}token") == nil)
        #expect(keys.reservedKey("token") == Array("app/\u{0}token".utf8))
        #expect(keys.meaning(of: keys.reservedKey("token")) == .reserved("token"))
    }

    @Test("A name with a NUL after a slash is reserved for a backend whose prefix is longer")
    func nested() {
        let nested = EntryKeys(prefix: "app/web/a")
        for (keys, name) in [(keys, "web/a/\u{0}token/1"), (EntryKeys(prefix: ""), "app/web/a/\u{0}token/1")] {
            #expect(keys.meaning(of: nested.reservedKey("token/1")) == .reserved(nil))
            #expect(keys.key(of: name) == nil)
            #expect(keys.meaning(of: keys.start + Array("a\u{0}".utf8)) == .entry("a\u{0}"))
        }
    }

    @Test("A key outside of the prefix, or one that is not UTF-8, is foreign")
    func foreign() {
        for key in ["app", "apple", "ap", "", "b/a", "/app/a"] { #expect(keys.meaning(of: Array(key.utf8)) == .foreign) }
        #expect(keys.meaning(of: Array("app/".utf8) + [0xFF]) == .foreign)
        #expect(keys.meaning(of: Array("app/".utf8) + [0xC0, 0x80]) == .foreign)
        #expect(keys.meaning(of: Array("app/".utf8) + [0x00, 0xED, 0xA0, 0x80]) == .foreign)
    }

    @Test("An empty name has no key, and the prefix itself is no entry")
    func empty() {
        #expect(keys.key(of: "") == nil)
        #expect(keys.meaning(of: keys.start) == .foreign)
        #expect(EntryKeys(prefix: "").key(of: "") == nil)
        #expect(EntryKeys(prefix: "").meaning(of: []) == .foreign)
    }

    @Test("A key whose meaning is an entry is the key of that entry, for random keys")
    func roundTrip() {
        var generator = SeededGenerator(seed: 3)
        var entries = 0
        for _ in 0..<(isLong ? 100_000 : 5_000) {
            let key =
                Array("app/".utf8) + (0..<Int.random(in: 0...4, using: &generator)).map { _ in .random(in: 0...255, using: &generator) }
            switch keys.meaning(of: key) {
            case .entry(let name):
                entries += 1
                #expect(keys.key(of: name) == key)
            case .reserved(let name?): #expect(keys.reservedKey(name) == key)
            case .reserved(nil): #expect(String(decoding: key.dropFirst(5), as: UTF8.self).contains("/\u{0}"))
            case .foreign: #expect(String(validating: key, as: UTF8.self) == nil || key == keys.start)
            }
        }
        #expect(entries > (isLong ? 10_000 : 500))
    }

    @Test("The end of a range is the first key after all that begin with the prefix")
    func rangeEnd() {
        #expect(keys.rangeStart == Array("app/".utf8))
        #expect(keys.rangeEnd == Array("app0".utf8))
        #expect(EntryKeys(prefix: "").rangeStart == [0])
        #expect(EntryKeys(prefix: "").rangeEnd == [0])
    }
}

@Suite("Values of entries", .timeLimit(.minutes(10))) struct EntryValueTests {
    @Test("A value is read back as it was written")
    func roundTrip() throws {
        let value: PropertyListValue = ["a": [1, 2.5, true, "text"], "d": .data(.init([1, 2]))]
        let bytes = try value.etcdBytes(for: "k")
        #expect(Array(bytes.prefix(8)) == Array("bplist00".utf8))
        #expect(try PropertyListValue(etcd: bytes) == value)
    }

    @Test("A value in XML, as a person may have put it, is read")
    func xml() throws {
        #expect(try PropertyListValue(etcd: Array("<plist version=\"1.0\"><integer>5</integer></plist>".utf8)) == 5)
    }

    @Test("Bytes that are no property list are an error, or data", arguments: ["", "hello", "bplist00"])
    func malformed(text: String) {
        #expect(throws: PropertyListError.self) { try PropertyListValue(etcd: Array(text.utf8)) }
        #expect(PropertyListValue(leniently: Array(text.utf8)) == .data(Data(text.utf8)))
    }

    @Test("A value that a property list cannot represent is an error that names the key")
    func unencodable() {
        var value: PropertyListValue = 1
        for _ in 0..<600 { value = .array([value]) }
        let failure = #expect(throws: StorageError.self) { try value.etcdBytes(for: "deep") }
        if case .unencodable(key: "deep", reason: _, underlying: _)? = failure {} else { Issue.record("\(failure as Any)") }
    }
}
