import Foundation
import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("Storage entries")
struct StorageEntriesTests {
    @Test("Entries record which of them were edited; setting an equal value is no edit")
    func editedKeys() {
        var entries = StorageEntries(["a": 1, "b": 2, "c": 3])
        entries["a"] = 1
        entries["b"] = 20
        entries["c"] = nil
        entries["d"] = nil
        #expect(entries.editedKeys == ["b", "c"])
        #expect(entries.values == ["a": 1, "b": 20])
    }

    @Test("The paths of values that are edited inside an entry are known, unless all of it is edited")
    func editedPaths() throws {
        var entries = StorageEntries(["d": ["a": 1, "b": 2], "text": "t"])
        func name(_ path: String...) -> EntryName { EntryName(own: "d", path: path) }
        try entries.set(1, at: name("a"))
        try entries.set(nil, at: name("c"))
        #expect(entries.editedKeys.isEmpty && entries.editedPaths.isEmpty)
        try entries.set(3, at: name("a"))
        try entries.set(nil, at: name("b"))
        try entries.set(4, at: name("c", "d"))
        #expect(entries.editedPaths == ["d": [["a"], ["b"], ["c", "d"]]] && entries["d"] == ["a": 3, "c": ["d": 4]])
        entries["d"] = ["x": 1]
        try entries.set(2, at: name("x"))
        #expect(entries.editedPaths.isEmpty && entries["d"] == ["x": 2])
        #expect(throws: StorageError.self) { try entries.set(1, at: EntryName(own: "text", path: ["a"])) }
        #expect(entries["text"] == "t" && entries.editedKeys == ["d"])
    }

    @Test("The difference from earlier entries contains what was set and what was removed")
    func difference() {
        let earlier = StorageEntries(["a": 1, "b": 2, "c": 3])
        let later = StorageEntries(["a": 1, "b": 2.0, "d": 4])
        let changes: [String: PropertyListValue?] = ["b": .real(2), "c": .none, "d": .integer(4)]
        #expect(later.changes(since: earlier) == changes)
        #expect(earlier.changes(since: earlier).isEmpty)
        #expect(StorageEntries(earlier.values).changes(since: earlier).isEmpty)
    }

    @Test(
        "Entries that are set, reset, removed and set again any number of times equal those of a dictionary", arguments: [0, 1, 40, 400])
    func manyEdits(count: Int) {
        var expected = Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", PropertyListValue.integer(0)) })
        let original = StorageEntries(expected)
        var entries = original
        for number in 0..<500 {
            let (key, value) = ("\(number * 7 % 90)", number % 3 == 0 ? nil : PropertyListValue.boolean(number.isMultiple(of: 2)))
            entries[key] = value
            expected[key] = value
            #expect(entries[key] == value)
            if number.isMultiple(of: 99) { #expect(entries.values == expected) }
        }
        #expect(entries.values == expected)
        #expect(entries.changes(since: StorageEntries(expected)).isEmpty)
        for (key, value) in entries.changes(since: original) { #expect(original[key] != value && entries[key] == value) }
    }

    @Test(
        "The storage of a large entry is released with the last copy that contains it, even after few edits",
        arguments: [{ $0 }, { .array([1, $0]) }, { ["a": ["b": $0]] }] as [@Sendable (PropertyListValue) -> PropertyListValue])
    func largeEntry(_ container: @Sendable (PropertyListValue) -> PropertyListValue) throws {
        let isGone = Lock(false)
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 100_000, alignment: 1)
        defer { memory.deallocate() }
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        let start = try #require(memory.baseAddress)
        let deallocator = Data.Deallocator.custom { _, _ in isGone.withLock { $0 = true } }
        var entries = StorageEntries([
            "large": container(.data(Data(bytesNoCopy: start, count: memory.count, deallocator: deallocator))), "small": 1,
        ])
        var copy = entries
        copy["large"] = nil
        #expect(!isGone.withLock { $0 } && entries["large"] != nil)
        entries = copy
        #expect(isGone.withLock { $0 } && entries.values == ["small": 1])
    }

    @Test("An edited copy differs from its original")
    func editedCopy() {
        let original = StorageEntries(["a": 1])
        var copy = original
        copy["a"] = 2
        #expect(copy.changes(since: original) == ["a": .some(2)])
        #expect(original.changes(since: copy) == ["a": .some(1)])
    }
}
