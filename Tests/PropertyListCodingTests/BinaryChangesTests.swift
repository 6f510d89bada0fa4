import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Differences of binary property lists", .timeLimit(.minutes(10))) struct BinaryChangesTests {
    private typealias Entries = [String: PropertyListValue]

    private let entries: Entries = [
        "text": "one", "long": .string(String(repeating: "long ", count: 20)), "umlaut": "Größe", "number": 1, "real": 1.5, "yes": true,
        "date": .date(Date(timeIntervalSinceReferenceDate: 0)), "data": .data(Data(0..<40)), "list": [1, "two", true], "empty": [:],
        "nested": ["a": ["b": [1, 2, 3]]], "uid": .uid(7),
    ]

    private func changes(from old: Entries, to new: Entries) throws -> [String: PropertyListValue?]? {
        let bytes = try PropertyListValue.dictionary(new).encoded(as: .binary)
        return PropertyListValue.changes(in: bytes, since: try PropertyListValue.dictionary(old).encoded(as: .binary), of: { old[$0] })
    }

    @Test("The same entries have no difference, whatever their bytes")
    func same() throws {
        #expect(try changes(from: entries, to: entries) == [:])
        #expect(try changes(from: [:], to: [:]) == [:])
        let binary = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        let foundation = try PropertyListSerialization.data(
            fromPropertyList: ["a": 1, "b": ["x": 1.5]], format: .binary, options: 0)
        let known: Entries = ["a": 1, "b": ["x": 1.5]]
        #expect(PropertyListValue.changes(in: foundation, since: foundation, of: { known[$0] }) == [:])
        #expect(PropertyListValue.changes(in: binary, since: binary, of: { entries[$0] }) == [:])
    }

    @Test("A leaf that is replaced by one of the same size is reported, wherever it is and whoever else has it")
    func sameSize() throws {
        let old: Entries = ["a": 1, "b": "text", "c": "shared", "d": "shared", "e": ["one", 5, "also"], "f": ["x": "also", "y": 2.5]]
        let edits: [(String, PropertyListValue)] = [
            ("a", 7), ("b", "else"), ("c", "sharee"), ("e", ["one", 6, "also"]), ("e", ["two", 5, "also"]), ("f", ["x": "also", "y": 3.5]),
            ("f", ["x": "alto", "y": 2.5]), ("b", .data(Data("data".utf8))), ("f", ["z": "also", "y": 2.5]),
        ]
        for (key, value) in edits {
            let new = old.merging([key: value]) { $1 }
            #expect(try changes(from: old, to: new) == [key: .some(value)])
            #expect(try changes(from: new, to: old) == [key: old[key]])
        }
        // Two that are shared, and one that is a key as well.
        #expect(try changes(from: ["a": "same", "b": "same"], to: ["a": "sane", "b": "sane"]) == ["a": "sane", "b": "sane"])
        #expect(try changes(from: ["a": "same", "same": 1], to: ["a": "sane", "sane": 1]) == ["a": "sane", "same": nil, "sane": 1])
    }

    @Test("Each entry that is set, added or removed is reported, and no other")
    func oneEntry() throws {
        for key in entries.keys {
            for value in ["changed", 2, [1, "two", false], ["a": ["b": [1, 2, 4]]]] as [PropertyListValue] {
                var later = entries
                later[key] = value
                #expect(try changes(from: entries, to: later) == [key: .some(value)])
            }
            var later = entries
            later[key] = nil
            #expect(try changes(from: entries, to: later) == [key: .none])
            #expect(try changes(from: later, to: entries) == [key: entries[key]])
        }
    }

    @Test("Values that only look equal are reported: 1, 1.0 and true, 0.0 and -0.0, text and data of the same bytes")
    func lookalikes() throws {
        let values: [PropertyListValue] = [
            1, 1.0, true, 0.0, -0.0, "A", .data(Data([0x41])), .uid(1), .date(Date(timeIntervalSinceReferenceDate: 1)),
        ]
        for old in values {
            for new in values where new != old {
                #expect(try changes(from: ["a": 0, "k": old, "z": 0], to: ["a": 0, "k": new, "z": 0]) == ["k": .some(new)])
            }
        }
    }

    @Test(
        "Nested differences are reported, at any depth and whatever precedes and follows them", arguments: [1, 15, 16, 17, 500])
    func depths(_ depth: Int) throws {
        func nested(_ inner: PropertyListValue) -> PropertyListValue {
            (0..<depth).reduce(inner) { value, level in
                level.isMultiple(of: 2) ? ["before": 1, "inside": value, "later": "text"] : ["before", value, 2.5]
            }
        }
        let old: Entries = ["a": "first", "k": nested("inner"), "l": nested("other"), "z": [true]]
        #expect(try changes(from: old, to: old) == [:])
        for inner in ["outer", "longer than before", 7, [], [:]] as [PropertyListValue] {
            let later = nested(inner)
            #expect(try changes(from: old, to: old.merging(["k": later]) { $1 }) == ["k": .some(later)])
        }
    }

    @Test("Containers with fewer or more elements, or of another type, are reported")
    func containers() throws {
        let lists: [PropertyListValue] = [[], [1], [1, 2], [2, 1], [[1], [2]], [:], ["1": 2], ["2": 1], ["1": 2, "2": 1], 1, "12"]
        for old in lists {
            for new in lists where new != old {
                #expect(
                    try changes(from: ["a": [1, 2], "k": old, "z": ["1": 2]], to: ["a": [1, 2], "k": new, "z": ["1": 2]]) == [
                        "k": .some(new)
                    ])
            }
        }
    }

    @Test("An entry that refers to another object is reported if the objects are unchanged, before and after the root")
    func otherReferences() throws {
        let old: Entries = ["a": "one", "b": "two", "c": "one", "d": "two"]
        let new: Entries = ["a": "one", "b": "two", "c": "two", "d": "two"]
        #expect(try changes(from: old, to: new) == ["c": "two"])
        #expect(PropertyListValue.changes(in: rootFirst([5, 6, 6, 6]), since: rootFirst([5, 6, 5, 6]), of: { old[$0] }) == ["c": "two"])
    }

    /// The entries a to d after their root, which refers to these objects as values: 5 is "one", 6 is "two".
    private func rootFirst(_ values: [UInt8]) -> Data {
        let root: [UInt8] = [0xD4, 1, 2, 3, 4] + values
        let objects = [root] + ["Qa", "Qb", "Qc", "Qd", "Sone", "Stwo"].map { Array($0.utf8) }
        var bytes = Array("bplist00".utf8)
        var offsets: [UInt8] = []
        for object in objects {
            offsets.append(UInt8(bytes.count))
            bytes += object
        }
        let table = UInt8(bytes.count)
        bytes += offsets
        for number in [0x0101, 7, 0, UInt64(table)] { withUnsafeBytes(of: number.bigEndian) { bytes += $0 } }
        return Data(bytes)
    }

    @Test("A key in another normalization requires reading everything")
    func normalization() throws {
        #expect(try changes(from: ["a": 0, "\u{E9}": 1, "z": 0], to: ["a": 0, "e\u{301}": 1, "z": 0]) == nil)
    }

    @Test("Bytes of another format, and roots that are not dictionaries, require reading everything")
    func otherKinds() throws {
        let binary = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        let others = [
            Data(), Data("bplist00".utf8), try PropertyListValue.dictionary(["a": 1]).encoded(as: .xml),
            try PropertyListValue.array([1]).encoded(as: .binary), try PropertyListValue.string("x").encoded(as: .binary),
        ]
        for other in others {
            #expect(PropertyListValue.changes(in: other, since: binary, of: { entries[$0] }) == nil)
            #expect(PropertyListValue.changes(in: binary, since: other, of: { _ in nil }) == nil)
        }
    }

    @Test("A list whose expansion is too large requires reading everything, even if none of its entries is")
    func limit() throws {
        func list(_ root: [UInt8]) -> Data {
            let outer = [0xAF, 0x11] + BinaryList.bytes(1_000, 2) + [UInt8](repeating: 4, count: 1_000)
            let inner = [0xAF, 0x11] + BinaryList.bytes(200, 2) + [UInt8](repeating: 5, count: 200)
            var list = BinaryList(root, Array("Qa".utf8), Array("Qb".utf8), outer, inner, [0x09])
            list.offsetSize = 2
            return list.data
        }
        let later = list([0xD2, 1, 2, 3, 3])
        #expect(failure(of: later)?.reason.contains("much larger") == true)
        for root in [[0xD2, 1, 2, 3, 5], [0xD2, 1, 2, 5, 5], [0xD1, 1, 3], [0xD0]] as [[UInt8]] {
            #expect(try changes(in: later, since: list(root)) == nil)
        }
        #expect(try changes(in: list([0xD1, 1, 3]), since: list([0xD0]))?.keys.sorted() == ["a"])
    }

    @Test("A repeated new key requires reading everything")
    func repeatedKey() throws {
        let earlier = BinaryList([0xD1, 1, 2], Array("Qa".utf8), [0x09]).data
        let later = BinaryList([0xD3, 1, 3, 3, 2, 2, 2], Array("Qa".utf8), [0x09], Array("Qb".utf8)).data
        #expect(try changes(in: later, since: earlier) == nil)
    }

    private func changes(in later: Data, since earlier: Data) throws -> [String: PropertyListValue?]? {
        guard case .dictionary(let old) = try PropertyListValue.decode(earlier).value else { return nil }
        return PropertyListValue.changes(in: later, since: earlier, of: { old[$0] })
    }

    @Test(
        "Random edits of random entries: applying the difference to the earlier entries equals reading everything",
        arguments: visited(0..<UInt64(20)))
    func randomEdits(_ seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var old: Entries = [:]
        var reported = 0
        for number in 0..<50 { old["key \(number)"] = .random(depth: 2, using: &generator) }
        for _ in 0..<50 {
            await Task.yield()
            var new = old
            for _ in 0..<Int.random(in: 0..<4, using: &generator) {
                let key = "key \(Int.random(in: 0..<60, using: &generator))"
                new[key] = Bool.random(using: &generator) ? .random(depth: 2, using: &generator) : nil
            }
            if try check(from: old, to: try PropertyListValue.dictionary(new).encoded(as: .binary)) { reported += 1 }
            old = new
        }
        #expect(reported > 10)
    }

    @Test("For damaged bytes, a difference is reported only if reading everything gives the same result")
    func damaged() throws {
        let good = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        var reported = 0
        for offset in good.indices {
            for byte in [0, 1, 0x7F, 0xFF, good[offset] &+ 1, good[offset] ^ 0x10] as [UInt8] {
                var bad = good
                bad[offset] = byte
                if try check(from: entries, to: bad) { reported += 1 }
            }
        }
        #expect(reported > 100)
    }

    /// Whether a difference was reported, which must equal the result of reading everything.
    @discardableResult
    private func check(from old: Entries, to bytes: Data) throws -> Bool {
        let earlier = try PropertyListValue.dictionary(old).encoded(as: .binary)
        guard let changes = PropertyListValue.changes(in: bytes, since: earlier, of: { old[$0] }) else { return false }
        var entries = old
        for (key, value) in changes {
            #expect(old[key] != value)
            entries[key] = value
        }
        #expect(try PropertyListValue.decode(bytes).value == .dictionary(entries))
        return true
    }
}
