import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("The entries in memory", .timeLimit(.minutes(5)))
struct EntryTableTests {
    @Test("An entry that is edited again is to be written once, until it is stored")
    func editedAgain() {
        var hint = EntryHint()
        var table = EntryTable([:])
        for number in 1...3 { _ = table.exchange("count", .integer(PropertyListInteger(Int64(number))), edit: UInt64(number), hint: &hint) }
        #expect(table.pendingNames == ["count"])
        #expect(table.pending.mapValues(\.value) == ["count": 3])
        table.noteStored(table.pending)
        #expect(table.pendingNames.isEmpty)
        #expect(table["count"] == 3)
    }

    @Test("What is removed, and whoever removes it, leaves nothing behind once that is stored")
    func removed() {
        var hint = EntryHint()
        var table = EntryTable(["ours": 1, "theirs": 2])
        _ = table.exchange("theirs", nil, edit: 0, hint: &hint)
        _ = table.exchange("nobody's", nil, edit: 1, hint: &hint)
        #expect(table.count == 1 && table.pendingNames.isEmpty)
        _ = table.exchange("ours", nil, edit: 2, hint: &hint)
        #expect(table.pending.mapValues(\.value) == ["ours": nil])
        table.noteStored(table.pending)
        #expect(table.count == 0)
    }

    @Test("A removed entry keeps what its readers hold on to, which counts the removal and what is set later")
    func watched() {
        var hint = EntryHint()
        var table = EntryTable(["a": 1])
        let watch = table.madeWatch("a")
        _ = table.exchange("a", nil, edit: 0, hint: &hint)
        _ = table.exchange("a", 2, edit: 1, hint: &hint)
        #expect(watch.changes == 2)
        #expect(table.watch("a") === watch)
    }

    @Test("A hint leads to an entry for as long as that is kept, in the table that it is of, and a wrong one is made right")
    func hints() {
        var (table, other) = (EntryTable(["a": 1, "b": 2]), EntryTable(["c": 3, "a": 4]))
        var hint = EntryHint(place: 99, id: 99)
        for value in [10, 11] as [PropertyListValue] {
            _ = table.exchange("a", value, edit: 0, hint: &hint)
            #expect(table.values == ["a": value, "b": 2])
            _ = other.exchange("a", value, edit: 0, hint: &hint)
            #expect(other.values == ["c": 3, "a": value])
        }
        _ = table.exchange("a", 12, edit: 0, hint: &hint)
        let known = hint
        _ = table.exchange("a", 13, edit: 0, hint: &hint)
        #expect(hint == known)
        _ = table.exchange("a", nil, edit: 0, hint: &hint)
        _ = table.exchange("new", 14, edit: 0)
        _ = table.exchange("a", 15, edit: 0, hint: &hint)
        #expect(table.values == ["a": 15, "b": 2, "new": 14])
        #expect(hint != known)
    }

    @Test("Names that come and go take the place of one")
    func usedAgain() {
        var table = EntryTable([:])
        for number in 0..<100 {
            var hint = EntryHint()
            _ = table.exchange("\(number)", 1, edit: 0, hint: &hint)
            _ = table.exchange("\(number)", nil, edit: 0, hint: &hint)
            #expect(hint.place == 0)
        }
    }

    @Test("A key knows where it wrote last, whichever store that was in")
    func remembered() throws {
        let stores = try [ObservableStore(backend: InMemoryBackend()), ObservableStore(backend: InMemoryBackend(["other": 1]))]
        try stores[1].set(2, for: StorageKey("other", default: 0))
        let key = StorageKey("key", default: 0)
        var hints = Set<EntryHint>()
        for value in 1...6 {
            try stores[value % 2].set(value, for: key)
            hints.insert(key.body.place.hint)
            try stores[value % 2].set(-value, for: key)
            hints.insert(key.body.place.hint)
            #expect(stores[value % 2][key] == -value)
        }
        #expect(hints.count == 2 && !hints.contains(EntryHint()))
    }

    @Test("Entries that nobody has touched are there, and are touched once")
    func untouched() {
        var table = EntryTable(["read": 1, "watched": 2, "set": 3, "removed": 4])
        _ = table.madeWatch("watched")
        _ = table.exchange("set", 30, edit: 0)
        _ = table.exchange("removed", nil, edit: 0)
        #expect(table["read"] == 1 && table["watched"] == 2 && table["set"] == 30 && table["removed"] == nil)
        #expect(table.values == ["read": 1, "watched": 2, "set": 30])
        #expect(table.names.sorted() == ["read", "set", "watched"])
        #expect(table.count == 3)
    }
}

extension EntryTable {
    /// What was there before another value was put in place; nothing if it is the same.
    mutating func exchange(_ name: String, _ value: PropertyListValue?, edit: UInt64, hint: inout EntryHint) -> PropertyListValue?? {
        var content = EntrySlot.Content(value: value)
        return exchange(name, &content, edit: edit, hint: &hint).map { _ in content.value }
    }

    /// The same without a hint.
    mutating func exchange(
        _ name: String, _ value: PropertyListValue?, edit: UInt64, revision: UInt64? = nil, condition: MemoryState.Edits? = nil
    ) -> PropertyListValue?? {
        var content = EntrySlot.Content(value: value)
        return exchange(name, &content, edit: edit, revision: revision, condition: condition).map { _ in content.value }
    }
}
