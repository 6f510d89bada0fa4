import Dispatch
import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("The entries in memory", .timeLimit(.minutes(10)))
struct EntryTableTests {
    @Test("An entry edited again is pending once, until it is stored")
    func editedAgain() {
        var table = EntryTable([:], store: 1)
        for number in 1...3 { _ = table.exchange("count", .integer(PropertyListInteger(Int64(number))), edit: UInt64(number)) }
        #expect(table.pending.mapValues(\.value) == ["count": 3])
        table.markWritten(table.pending)
        #expect(table.pending.isEmpty && !table.hasPending)
        #expect(table["count"] == 3)
    }

    @Test("Values in a dictionary that are edited again and again are pending once, and after a commit those edited since it began")
    func innerEditedAgain() throws {
        var table = EntryTable([:], store: 1)
        func edit(_ name: String, _ number: UInt64) throws {
            var replaced: Entry.Replaced = (.integer(PropertyListInteger(number)), nil)
            let entry = table.ensureEntry("server")
            _ = try table.exchange(entry, &replaced, at: EntryName(own: "server", path: [name]), in: number)
        }
        func paths() -> [[String]] { table.pending("server")?.paths ?? [] }
        for number in 1...1_000 as ClosedRange<UInt64> { try edit(number.isMultiple(of: 2) ? "a" : "b", number) }
        #expect(paths().count < 200)
        let begun = table.beginCommit(isFirst: true)
        #expect(begun["server"]?.paths == [["b"], ["a"]])
        for number in 1_001...2_000 as ClosedRange<UInt64> { try edit("a", number) }
        #expect(paths().count < 200)
        table.markWritten(begun)
        #expect(Set(paths()) == [["a"]])
        try edit("b", 2_001)
        #expect(table.beginCommit(isFirst: true)["server"]?.paths == [["a"], ["b"]])
    }

    @Test("An entry removed by any process is gone, and pending if this process removed it")
    func removed() {
        var table = EntryTable(["ours": 1, "theirs": 2], store: 1)
        _ = table.exchange("theirs", nil, edit: 0)
        _ = table.exchange("nobody's", nil, edit: 1)
        #expect(table.values == ["ours": 1] && !table.hasPending)
        _ = table.exchange("ours", nil, edit: 2)
        #expect(table.pending.mapValues(\.value) == ["ours": nil])
        table.markWritten(table.pending)
        #expect(table.values.isEmpty && table.names.isEmpty && !table.hasPending)
    }

    @Test("A removed entry keeps its identity for those who retain it, and counts the removal and later edits")
    func held() {
        var table = EntryTable(["a": 1], store: 1)
        let entry = table.ensureEntry("a")
        _ = table.exchange("a", nil, edit: 0)
        _ = table.exchange("a", 2, edit: 1)
        #expect(entry.version == 2)
        #expect(table.entry("a") === entry)
    }

    @Test("Names that are added and removed leave little memory allocated")
    func swept() {
        var table = EntryTable([:], store: 1)
        for number in 0..<10_000 {
            _ = table.exchange("\(number)", 1, edit: 0)
            _ = table.exchange("\(number)", nil, edit: 0)
        }
        #expect(table.count < 200 && table.values.isEmpty)
    }

    @Test("Of the values under earlier names that were reported, a limited number is remembered")
    func superseded() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        func read(_ number: Int, besides old: Int = 2) {
            let key = StorageKey("new\(number)", default: 0)
            store[key] = 1
            store[StorageKey("old\(number)", default: 0)] = old
            #expect(store[key.renamed(from: "old\(number)")] == 1)
        }
        for number in 0..<EntryCache.maximumReported { read(number) }
        // Of one that is remembered, another value is.
        read(0, besides: 3)
        #expect(store.cache.reportedSuperseded.withLock { $0.count } == EntryCache.maximumReported)
        for number in 0..<10 { read(EntryCache.maximumReported + number) }
        #expect(store.cache.reportedSuperseded.withLock { $0.count } == 10)
    }

    @Test("Of the defaults that reading could not store, a limited number is remembered, each of which is reported once")
    func refusedDefaults() async throws {
        let store = try ObservableStore(backend: RefusingBackend())
        var failures = store.failures.makeAsyncIterator()
        for number in 0...EntryCache.maximumReported {
            let key = StorageKey("users/\(number)", persistsDefault: .whenMissing, default: 1.5)
            for _ in 1...2 { #expect(store[key] == 1.5) }
            let failure = await failures.next()
            #expect(failure == .unencodable(key: key.name, reason: "refused"))
        }
        #expect(store.cache.update { $0.refusedMigrations.count } == 1)
    }

    @Test("An entry that was only observed is removed with its last observer")
    func observedOnly() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["kept": 1]))
        let before = store.cache.update { $0.entries.count }
        let kept = store.addUpdateListener(for: StorageKey("kept", default: 0)) { _ in }
        for number in 0..<10 {
            let token = store.addUpdateListener(for: StorageKey("\(number)", default: 0)) { _ in }
            let scene = SceneStore(sceneID: "one", base: store).stored(StorageKey("\(number)", default: 0)).key
            let other = store.addUpdateListener(for: scene) { _ in }
            token.cancel()
            other.cancel()
        }
        #expect(store.cache.update { $0.entries.count } < before + 5)
        kept.cancel()
        #expect(store.entries == ["kept": 1])
    }

    @Test("Entries without other state are removed when the storage has their values")
    func rebased() throws {
        let values: [String: PropertyListValue] = ["a": 1, "b": 2, "c": 3, "edited": 4, "held": 5, "unread": 6]
        var table = EntryTable(StoredValues(values), store: 1)
        for name in values.keys { _ = table.ensureEntry(name) }
        let held = table.ensureEntry("held")
        _ = table.exchange("edited", 7, edit: 1)
        // Its earlier value is kept for readers that cannot decode the present one.
        _ = table.exchange("unread", 8, edit: 2)
        table.markWritten(["unread": try #require(table.pending("unread"))])
        let stored = values.merging(["unread": 8]) { $1 }
        let list = try #require(LazyEntries(try PropertyListValue.dictionary(stored).encoded(as: .binary)))
        let removed = table.rebase(on: StoredValues(list))
        #expect(removed.entries.map(\.name).sorted() == ["a", "b", "c"])
        #expect(table.touched.map(\.name).sorted() == ["edited", "held", "unread"] && table.entry("held") === held)
        #expect(table.values == stored.merging(["edited": 7]) { $1 } && table.count == 6 && table.hasPending)
        // Snapshots have all values anyway.
        _ = table.values(at: 2)
        _ = table.ensureEntry("a")
        #expect(table.rebase(on: StoredValues(stored)).entries.isEmpty)
        #expect(table.values(at: 3).values.all == stored.merging(["edited": 7]) { $1 })
    }

    @Test("An entry whose reads were tracked is kept: its observers are to be told of later changes")
    func tracked() {
        var table = EntryTable(["value": 1], store: 1)
        for name in ["value", "missing"] { table.ensureEntry(name).access() }
        let identities = ["value", "missing"].map { table.ensureEntry($0).id }
        #expect(table.rebase(on: ["value": 1]).entries.isEmpty)
        #expect(table.forgetIfVacant("missing") == nil)
        for number in 0..<1_000 { _ = table.ensureEntry("\(number)") }
        #expect(["value", "missing"].map { table.ensureEntry($0).id } == identities)
        #expect(table.count < 200)
    }

    @Test("An entry is kept while a reader of another type needs what is known of it")
    func misread() throws {
        let text = ObjectIdentifier(String.self)
        var table = EntryTable(StoredValues(["a": "old", "read": "old", "reported": "old"]), store: 1)
        for name in ["a", "read", "reported"] { _ = table.exchange(name, "new", edit: 0, revision: 1, type: text) }
        func read(_ name: String, _ revision: UInt64, _ good: PropertyListValue?) -> Bool {
            let name = EntryName(own: name)
            return table.ensureEntry(name.own).content.history
                .markInvalid("new", of: name, revision: revision, insteadOf: good, as: text).isNew
        }
        #expect(read("read", 1, "old"))
        _ = table.exchange("reported", "newer", edit: 0, revision: 2, type: text)
        #expect(read("reported", 2, nil))
        func rebase() -> [String] {
            table.rebase(on: StoredValues(table.values)).entries.map(\.name).sorted()
        }
        #expect(rebase() == ["a"])
        #expect(!read("read", 1, "old") && !read("reported", 2, nil))
        #expect(table.entry("read")?.content.history.earlier(EntryName(own: "read")).first == "old")
        _ = table.exchange("reported", "newest", edit: 0, revision: 3, type: text)
        #expect(rebase() == ["reported"])
    }

    @Test("After a store was closed, edits that were discarded are still read")
    func discarded() {
        let cache = EntryCache(entries: ["a": 1], executor: DispatchQueueExecutor(label: "store"))
        let kept = cache.update { state in
            _ = state.entries.exchange("a", 2, edit: 1)
            state.isClosed = true
            _ = state.discardPending()
            let removed = state.rebase(on: ["a": 1], except: [])
            return removed == nil && state.entries["a"] == 2
        }
        #expect(kept)
    }

    @Test("Removing one entry does not affect looking up the others")
    func forgotten() {
        var table = EntryTable(["a": 1, "b": 2, "c": 3], store: 1)
        for name in ["a", "x", "b", "y", "c"] { _ = table.ensureEntry(name) }
        #expect(["x", "a", "y", "nothing"].map { table.forgetIfVacant($0)?.name } == ["x", nil, "y", nil])
        #expect(table.values == ["a": 1, "b": 2, "c": 3] && table.count == 3)
        #expect(["a", "b", "c"].allSatisfy { table.entry($0)?.name == $0 })
    }

    @Test("A key knows its entries in several stores")
    func remembered() throws {
        let stores = try [ObservableStore(backend: InMemoryBackend()), ObservableStore(backend: InMemoryBackend(["other": 1]))]
        let key = StorageKey("key", default: 0)
        for value in 1...6 {
            try stores[value % 2].set(value, for: key)
            try stores[value % 2].set(-value, for: key)
            #expect(stores[value % 2][key] == -value)
        }
        let many = try (0..<10).map { try ObservableStore(backend: InMemoryBackend(["key": .integer(PropertyListInteger(Int64($0)))])) }
        for _ in 0..<2 { #expect(many.map { $0[key] } == Array(0..<10)) }
        #expect(stores.map { $0[key] } == [-6, -5])
    }

    @Test("An entry retained elsewhere releases its stored value with the store")
    func released() {
        var cache: EntryCache? = EntryCache(entries: ["key": "text"], executor: DispatchQueueExecutor(label: "store"))
        let entry = cache?.entry("key")
        #expect(entry?.content.value == "text")
        cache = nil
        #expect(entry?.content.value == nil)
    }

    @Test("An entry that was not accessed exists, and is initialized once")
    func untouched() {
        var table = EntryTable(["read": 1, "held": 2, "set": 3, "removed": 4], store: 1)
        _ = table.ensureEntry("held")
        _ = table.exchange("set", 30, edit: 0)
        _ = table.exchange("removed", nil, edit: 0)
        #expect(table["read"] == 1 && table["held"] == 2 && table["set"] == 30 && table["removed"] == nil)
        #expect(table.values == ["read": 1, "held": 2, "set": 30])
        #expect(table.names.sorted() == ["held", "read", "set"])
    }
}

extension EntryTable {
    /// The previous value; nil if it is the same.
    mutating func exchange(
        _ name: String, _ value: PropertyListValue?, edit: UInt64, revision: UInt64? = nil, type: ObjectIdentifier? = nil,
        condition: EntryEdits? = nil
    ) -> PropertyListValue?? {
        var replaced: Entry.Replaced = (value, nil)
        let entry = ensureEntry(name)
        let isChanged = exchange(entry, &replaced, in: revision ?? edit, isEdit: edit != 0, type: type, condition: condition)
        return isChanged ? .some(replaced.value) : nil
    }
}

extension StoredValues: ExpressibleByDictionaryLiteral {
    init(dictionaryLiteral elements: (String, PropertyListValue)...) {
        self.init(Dictionary(elements) { $1 })
    }
}

/// A storage that can represent no value that a store asks it for.
private struct RefusingBackend: BlockingStorageBackend {
    let name = "refusing"

    func load() -> StorageEntries { StorageEntries() }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        var entries = load()
        try body(&entries)
        return entries
    }

    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        throw .unencodable(key: key, reason: "refused")
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        ObservationToken {}
    }
}
