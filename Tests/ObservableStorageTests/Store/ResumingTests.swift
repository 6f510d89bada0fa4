import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Changes since a revision", .timeLimit(.minutes(10)))
struct ResumingTests {
    typealias Edits = [String: PropertyListValue?]

    /// The storages with a history: one that blocks, and one that suspends.
    enum Kind: CaseIterable, Sendable {
        case memory, service
    }

    /// A storage, what is stored in it, and a store on it.
    struct Site {
        let memory: InMemoryBackend
        let store: ObservableStore

        init(_ kind: Kind = .memory, _ entries: [String: PropertyListValue] = [:], rememberedCommits: Int = 100) async throws {
            switch kind {
            case .memory:
                let memory = InMemoryBackend(entries, rememberedCommits: rememberedCommits)
                self.init(memory: memory, store: try ObservableStore(backend: memory))
            case .service: try await self.init(ServiceBackend(entries, rememberedCommits: rememberedCommits))
            }
        }

        init(_ service: ServiceBackend) async throws {
            self.init(memory: service.memory, store: try await ObservableStore.open(service))
        }

        private init(memory: InMemoryBackend, store: ObservableStore) {
            (self.memory, self.store) = (memory, store)
        }

        var start: StorageRevision { get throws { try revision(0) } }

        func revision(_ number: UInt64) throws -> StorageRevision {
            StorageRevision(history: try #require(memory.load().revision).history, number: number)
        }

        /// Commits edits as another writer.
        func commit(_ edits: Edits) throws {
            _ = try memory.edit { entries in
                for (name, value) in edits { entries[name] = value }
            }
        }
    }

    /// A change without the store's own count.
    struct Told: Equatable {
        let key: String
        let old: PropertyListValue?
        let new: PropertyListValue?
        let origin: ChangeOrigin
        let number: UInt64?

        init(
            _ key: String, _ old: PropertyListValue?, _ new: PropertyListValue?, _ number: UInt64? = nil,
            _ origin: ChangeOrigin = .external
        ) {
            (self.key, self.old, self.new, self.number, self.origin) = (key, old, new, number, origin)
        }

        init(_ change: Change<PropertyListValue?>) {
            self.init(change.key, change.oldValue, change.newValue, change.storageRevision?.number, change.origin)
        }
    }

    private func told(_ count: Int, of changes: AsyncStream<Change<PropertyListValue?>>?) async throws -> [Told] {
        var told: [Told] = []
        for await change in try #require(changes) {
            told.append(Told(change))
            #expect((change.kind == .removed) == (change.newValue == nil))
            if told.count == count { break }
        }
        return told
    }

    @Test("First what has happened since, then what happens, in order", arguments: Kind.allCases)
    func pastAndLive(kind: Kind) async throws {
        let site = try await Site(kind, ["count": 1])
        try site.commit(["count": 2])
        try site.commit(["note": "a", "count": 3])
        try site.commit(["note": nil])
        await site.store.settle()
        let changes = try #require(try await site.store.changes(since: site.revision(1)))
        try site.commit(["count": 4])
        try await site.store.update { $0[Keys.text] = "own" }
        #expect(
            try await told(5, of: changes) == [
                Told("count", 2, 3, 2), Told("note", nil, "a", 2), Told("note", "a", nil, 3), Told("count", 3, 4, 4),
                Told("text", nil, "own", 5, .local),
            ])
    }

    @Test("None of the entries of a large commit is left out, nor of an edit that is not stored yet", arguments: [64, 65, 5_000])
    func manyEntries(count: Int) async throws {
        let memory = InMemoryBackend()
        let store = try ObservableStore(backend: memory)
        let start = try #require(store.storageRevision)
        let names = (0..<count).map { "key\($0)" }.sorted()
        _ = try memory.edit { entries in
            for name in names { entries[name] = 1 }
        }
        await store.settle()
        await store.suspend()
        store.edit { transaction in
            for name in names { transaction[StorageKey(name, default: 0)] = 2 }
        }
        let changes = try #require(try await store.changes(since: start))
        store.resume()
        try await store.close()
        var told: [Told] = []
        for await change in changes { told.append(Told(change)) }
        #expect(told.prefix(count).map(\.key) == names && told.prefix(count).allSatisfy { $0.new == 1 && $0.origin == .external })
        #expect(told.dropFirst(count).prefix(count).map(\.key) == names)
        #expect(told.dropFirst(count).prefix(count).allSatisfy { $0.new == 2 && $0.origin == .local })
    }

    @Test("The changes before the live ones have the store's revision at that moment, and a live one the next", arguments: Kind.allCases)
    func revisions(kind: Kind) async throws {
        let site = try await Site(kind)
        for number in 1...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        await site.store.settle()
        #expect(site.store.storageRevision?.number == 3 && site.store.revision == 3)
        let changes = try #require(try await site.store.changes(of: Keys.count, since: site.start))
        try site.commit(["count": 4])
        var revisions: [UInt64] = []
        for await change in changes {
            revisions.append(change.revision)
            if change.newValue == 4 { break }
        }
        #expect(revisions == [3, 3, 3, 4])
    }

    @Test("Nothing has happened since the present revision, for which the storage is not asked")
    func present() async throws {
        let service = ServiceBackend(["count": 1])
        let site = try await Site(service)
        let changes = try #require(try await site.store.changes(since: site.start))
        try site.commit(["count": 2])
        #expect(try await told(1, of: changes) == [Told("count", 1, 2, 1)])
        #expect(!service.arrivals.elements.contains(.beforeCommits))
    }

    @Test("A store that is behind the revision reads the storage first")
    func behind() async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        service.withholdEvents()
        for number in 1...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        #expect(site.store[Keys.count] == 0)
        let changes = try #require(try await site.store.changes(since: site.revision(2)))
        #expect(site.store[Keys.count] == 3)
        try site.commit(["count": 4])
        service.report(.changed)
        #expect(try await told(2, of: changes) == [Told("count", 2, 3, 3), Told("count", 3, 4, 4)])
    }

    @Test("A commit that the store has not told of yet is told live, together with others if it has to read them")
    func notToldYet() async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        service.withholdEvents()
        for number in 2...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        let changes = try #require(try await site.store.changes(since: site.start))
        service.report(.changed)
        #expect(try await told(2, of: changes) == [Told("count", nil, 1, 1), Told("count", 1, 3, 3)])
    }

    @Test("Changes that are made while the storage is asked follow the earlier ones, each once")
    func meanwhile() async throws {
        let service = ServiceBackend(["count": 0])
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        service.hold(.beforeCommits)
        async let changes = site.store.changes(since: site.start)
        _ = try await service.arrivals.elements { $0.contains(.beforeCommits) }
        site.store[Keys.text] = "own"
        try site.commit(["count": 2])
        await site.store.settle()
        service.release(.beforeCommits)
        #expect(
            try await told(3, of: try await changes) == [
                Told("count", 0, 1, 1), Told("text", nil, "own", nil, .local), Told("count", 1, 2, 2),
            ])
        // The edit waited for its turn, and comes from the storage the next time.
        try await site.store.flush()
        #expect(try await told(1, of: await site.store.changes(since: site.revision(2))) == [Told("text", nil, "own", 3)])
    }

    // MARK: Edits that are not stored

    @Test("Edits that are not stored yet follow what is stored, and come again from there")
    func pending() async throws {
        let service = ServiceBackend(["count": 0, "text": "old"])
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        service.hold(.beforeEdit)
        site.store[Keys.count] = 5
        site.store.remove(Keys.text)
        // Commits are waited for until the edit, which is held before it stores anything, lets the next operation begin.
        async let changes = site.store.changes(since: site.start)
        _ = try await service.arrivals.elements { $0.contains(.beforeEdit) }
        while !site.store.cache.isObserved { await Task.yield() }
        service.release(.beforeEdit)
        try await site.store.flush()
        try site.commit(["count": 6])
        let edits = [Told("count", 1, 5, nil, .local), Told("text", "old", nil, nil, .local)]
        let first = try await told(4, of: try await changes)
        #expect(first == [Told("count", 0, 1, 1)] + edits + [Told("count", 5, 6, try #require(first.last?.number))])
        let again = try await told(3, of: await site.store.changes(since: site.revision(1)))
        #expect(again.allSatisfy { $0.origin == .external })
        #expect(again.prefix(2).map(\.new) == [5, nil] && again.last == first.last)
    }

    @Test("An edit that is stored, but not known to be, is told once")
    func answerOpen() async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        service.hold(.afterEdit)
        site.store[Keys.count] = 5
        _ = try await service.arrivals.elements { $0.contains(.afterEdit) }
        await site.store.settle()
        #expect(site.store.storageRevision?.number == 1)
        async let changes = site.store.changes(since: site.start)
        while !site.store.cache.isObserved { await Task.yield() }
        service.release(.afterEdit)
        try await site.store.flush()
        try site.commit(["count": 6])
        #expect(try await told(2, of: try await changes) == [Told("count", nil, 5, 1), Told("count", 5, 6, 2)])
    }

    @Test("A transaction that is told to its end is not told again, and one that is not comes again whole", arguments: Kind.allCases)
    func transaction(kind: Kind) async throws {
        let site = try await Site(kind)
        try site.commit(["a": 1, "b": 1])
        try site.commit(["a": 2, "b": 2])
        try site.commit(["a": 3, "b": 3])
        await site.store.settle()
        var kept = try site.start
        var last: StorageRevision?
        var count = 0
        for await change in try #require(try await site.store.changes(since: kept)) {
            if let last, change.storageRevision != last { kept = last }
            last = change.storageRevision
            count += 1
            if count == 3 { break }
        }
        #expect(kept.number == 1)
        let whole = [Told("a", 1, 2, 2), Told("b", 1, 2, 2), Told("a", 2, 3, 3), Told("b", 2, 3, 3)]
        #expect(try await told(4, of: await site.store.changes(since: kept)) == whole)
    }

    // MARK: What is not told

    @Test("What the storage no longer remembers is not told", arguments: Kind.allCases)
    func forgotten(kind: Kind) async throws {
        let site = try await Site(kind, rememberedCommits: 2)
        for number in 1...5 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        await site.store.settle()
        #expect(try await site.store.changes(since: site.revision(2)) == nil)
        #expect(try await site.store.changes(of: Keys.count, since: site.revision(2)) == nil)
        #expect(!site.store.cache.isObserved)
        #expect(try await told(2, of: await site.store.changes(since: site.revision(3))).map(\.new) == [4, 5])
    }

    @Test("A revision of another history, or one that the storage has not reached, is not known", arguments: Kind.allCases)
    func unknown(kind: Kind) async throws {
        let site = try await Site(kind)
        try site.commit(["count": 1])
        #expect(try await site.store.changes(since: StorageRevision(history: "other", number: 0)) == nil)
        #expect(try await site.store.changes(since: site.revision(2)) == nil)
        #expect(!site.store.cache.isObserved)
    }

    @Test("A storage that remembers nothing only knows its present revision")
    func withoutMemory() async throws {
        let hooked = HookedBackend()
        let store = try ObservableStore(backend: hooked)
        let start = try #require(store.storageRevision)
        #expect(try await store.changes(since: start) != nil)
        try await store.update { $0[Keys.count] = 1 }
        #expect(try await store.changes(since: start) == nil)
        let none = try ObservableStore(backend: UnreliableBackend(HookedBackend()))
        #expect(try await none.changes(since: StorageRevision(history: "other", number: 0)) == nil)
    }

    @Test("A storage without revisions knows none")
    func withoutRevisions() async throws {
        let store = try Fixture.thirdParty.make(["count": 1]).open()
        #expect(store.storageRevision == nil)
        #expect(try await store.changes(since: StorageRevision(history: "other", number: 0)) == nil)
        #expect(!store.cache.isObserved)
    }

    @Test("An error of the storage is thrown, and nothing stays subscribed")
    func failure() async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        let away = StorageError.unreadable(file: "service", reason: "away")
        service.refuse(away)
        await #expect(throws: away) { try await site.store.changes(since: site.start) }
        #expect(!site.store.cache.isObserved)
    }

    @Test("Entries that only describe others are left out, unless a key is asked for")
    func hidden() async throws {
        let site = try await Site()
        let name = EntryName.hiddenPrefix + "x"
        try site.commit([name: 1])
        try site.commit(["count": 1, name: 2])
        await site.store.settle()
        let all = try await site.store.changes(since: site.start)
        let own = try await site.store.changes(of: StorageKey<PropertyListValue?>(name), since: site.start)
        try site.commit([name: 3, "count": 2])
        #expect(try await told(2, of: all) == [Told("count", nil, 1, 2), Told("count", 1, 2, 3)])
        #expect(try await told(3, of: own).map(\.new) == [1, 2, 3])
    }

    // MARK: Life

    @Test("Dropping the stream ends the subscription, before, between and after the past", arguments: 0...4, Kind.allCases)
    func dropped(count: Int, kind: Kind) async throws {
        let site = try await Site(kind)
        for number in 1...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        await site.store.settle()
        func read() async throws {
            let changes = try #require(try await site.store.changes(since: site.start))
            let counts = try #require(try await site.store.changes(of: Keys.count, since: site.start))
            #expect(site.store.cache.isObserved)
            try site.commit(["count": 4])
            guard count > 0 else { return }
            _ = try await told(count, of: changes)
            for await change in counts where change.newValue == count { break }
        }
        try await read()
        #expect(!site.store.cache.isObserved)
    }

    @Test("Cancelling the task ends the stream and its subscription, in the past and while it waits", arguments: [1, 3], Kind.allCases)
    func cancelled(count: Int, kind: Kind) async throws {
        let site = try await Site(kind)
        for number in 1...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        await site.store.settle()
        let seen = Recorder<Int>()
        let reader = Task {
            var changes = try #require(try await site.store.changes(of: Keys.count, since: site.start)).makeAsyncIterator()
            while let change = await changes.next() {
                seen.record(change.newValue)
                // Cancelled inside the loop, it does not receive what follows.
                if change.newValue == count, count == 1 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        _ = try await seen.elements(count: count)
        reader.cancel()
        try await reader.value
        #expect(seen.elements == Array(1...count))
        #expect(!site.store.cache.isObserved)
    }

    @Test("A reader that is cancelled while the storage is asked gets a stream that ends")
    func cancelledWhileAsked() async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        service.hold(.beforeCommits)
        let reader = Task {
            for await change in try #require(try await site.store.changes(since: site.start)) { Issue.record("\(change)") }
        }
        _ = try await service.arrivals.elements { $0.contains(.beforeCommits) }
        reader.cancel()
        service.release(.beforeCommits)
        try await reader.value
        #expect(!site.store.cache.isObserved)
    }

    @Test("A store that is closed meanwhile tells what it knew, and then ends", arguments: [true, false])
    func closed(whileAsked: Bool) async throws {
        let service = ServiceBackend()
        let site = try await Site(service)
        try site.commit(["count": 1])
        await site.store.settle()
        service.hold(.beforeCommits)
        async let changes = site.store.changes(since: site.start)
        _ = try await service.arrivals.elements { $0.contains(.beforeCommits) }
        if !whileAsked {
            service.release(.beforeCommits)
            _ = try await changes
        }
        try await site.store.close()
        service.release(.beforeCommits)
        try site.commit(["count": 2])
        var seen: [Told] = []
        for await change in try #require(try await changes) { seen.append(Told(change)) }
        #expect(seen == [Told("count", nil, 1, 1)])
        // What has happened after the end is not read.
        await #expect(throws: StorageError.closed) { try await site.store.changes(since: site.revision(2)) }
    }

    @Test("The stream does not retain its store, and ends with it", arguments: Kind.allCases)
    func released(kind: Kind) async throws {
        var site: Site? = try await Site(kind)
        try site?.commit(["count": 1])
        await site?.store.settle()
        weak let store = site?.store
        let start = try #require(try site?.start)
        let changes = try #require(try await site?.store.changes(since: start))
        site = nil
        var seen: [PropertyListValue?] = []
        for await change in changes { seen.append(change.newValue) }
        #expect(seen == [1])
        #expect(store == nil)
    }
}
