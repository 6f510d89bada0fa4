import Dispatch
import ObservableStorage
import Synchronization
import PropertyListCoding
import TestSupport
import Testing

private struct ServerKeys: KeyGroup {
    let host = StorageKey("host", default: "localhost")
    let port = StorageKey("port", default: 80)
    let debug = DebugKeys()
}

private struct DebugKeys: KeyGroup {
    let prefix: String? = "debug"
    let level = StorageKey("level", default: 0)
}

private final class Run: Sendable {
    let isDone = Atomic(false)
    let torn = Atomic(0)
}

@Suite("Snapshots of several keys", .timeLimit(.minutes(10)))
struct SnapshotTests {
    @Test("A snapshot keeps the values of its revision, and defaults", arguments: Fixture.allCases)
    func values(fixture: Fixture) throws {
        let store = try fixture.make(["host": "a"]).open()
        let settings = KeyedStore<ServerKeys>(store)
        let before = settings.snapshot
        settings.host = "b"
        settings.debug.level = 2
        let after = settings.snapshot
        store.remove(StorageKey<String?>("host"))
        #expect((before.host, before.port, before.debug.level) == ("a", 80, 0))
        #expect((after.host, after.port, after.debug.level) == ("b", 80, 2))
        #expect(settings.snapshot.host == "localhost")
        #expect(after.isSet(\.host) && !after.isSet(\.port) && !settings.snapshot.isSet(\.host))
        #expect(before.snapshot.revision < after.snapshot.revision)
        #expect(after.snapshot.entries == ["host": "b", "debug/level": 2])
    }

    @Test("Snapshots have every entry as it was, however the entries change", arguments: [1, 2, 3, 4])
    func model(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let storage = try Fixture.memory.make(["n0": 1, "n1": 2, "n70": 3])
        let store = try storage.open()
        var model: [String: PropertyListValue] = ["n0": 1, "n1": 2, "n70": 3]
        var kept: [(StoreSnapshot, [String: PropertyListValue])] = []
        for step in 0..<2_000 {
            let name = "n\(Int.random(in: 0..<100, using: &random))"
            let key = StorageKey<Int?>(name)
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                store[key] = step
                model[name] = .integer(PropertyListInteger(Int64(step)))
            case 2:
                store[key] = nil
                model[name] = nil
            // An observation of an entry without a value creates and removes the entry.
            case 3: store.addUpdateListener(for: key) { _ in }.cancel()
            case 4: _ = store[key]
            default: kept.append((store.snapshot, model))
            }
            if kept.count > 5 { kept.removeFirst(Int.random(in: 1..<5, using: &random)) }
        }
        #expect(store.snapshot.entries == model)
        for (snapshot, model) in kept { #expect(snapshot.entries == model) }
    }

    @Test("An entry that is removed from memory is not in later snapshots", arguments: [false, true])
    func forgotten(isSwept: Bool) async throws {
        let store = try Fixture.memory.make(["removed": 1, "kept": 2]).open()
        #expect(store.snapshot.entries == ["removed": 1, "kept": 2])
        store.removeValue(forKey: "removed")
        try await store.flush()
        // Without a value and observers, that happens at the end of an observation, or when many names have been used.
        if isSwept {
            for number in 0..<200 { _ = store[StorageKey<Int?>("other \(number)")] }
        } else {
            store.addUpdateListener(for: StorageKey<Int?>("removed")) { _ in }.cancel()
        }
        #expect(store.snapshot.entries == ["kept": 2])
    }

    @Test("Of many snapshots during transactions and edits of pairs, none is torn; a million in the long form")
    func torn() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<ServerKeys>(store)
        settings.edit {
            $0.host = "0"
            $0.port = 0
        }
        let run = Run()
        try await withThrowingTaskGroup { group in
            group.addTask {
                var number = 0
                while !run.isDone.load(ordering: .relaxed) {
                    number += 1
                    let value = number
                    if number % 100 == 0 {
                        try await settings.update {
                            $0.host = "\(value)"
                            $0.port = value
                        }
                    } else {
                        settings.edit {
                            $0.host = "\(value)"
                            $0.port = value
                        }
                    }
                }
            }
            group.addTask {
                for await (host, port) in settings.values(of: \.host, \.port) where host != "\(port)" {
                    run.torn.add(1, ordering: .relaxed)
                }
            }
            group.addTask {
                for await snapshot in settings.snapshots() where snapshot.host != "\(snapshot.port)" {
                    run.torn.add(1, ordering: .relaxed)
                }
            }
            group.addTask {
                for number in 0..<(isLong ? 1_000_000 : 50_000) {
                    // Other tests run on this thread, too.
                    if number.isMultiple(of: 100) { await Task.yield() }
                    let snapshot = settings.snapshot
                    if snapshot.host != "\(snapshot.port)" { run.torn.add(1, ordering: .relaxed) }
                }
                run.isDone.store(true, ordering: .relaxed)
                try await store.close()
            }
            do {
                try await group.waitForAll()
            } catch StorageError.closed {
                // The writer's last transaction, after the store was closed.
            }
        }
        #expect(run.torn.load(ordering: .relaxed) == 0)
    }

    @Test("A stream of several keys has the present values, and one element for each transaction", arguments: Fixture.allCases)
    func stream(fixture: Fixture) async throws {
        let store = try fixture.make().open()
        let settings = KeyedStore<ServerKeys>(store)
        var values = settings.values(of: \.host, \.port, \.debug.level).makeAsyncIterator()
        #expect(try #require(await values.next()) == ("localhost", 80, 0))
        try await settings.update {
            $0.host = "a"
            $0.port = 1
            $0.debug.level = 1
        }
        #expect(try #require(await values.next()) == ("a", 1, 1))
        // Neither a change of another key nor an equal value makes an element.
        store[StorageKey("other", default: 0)] = 1
        settings.port = 1
        settings.edit {
            $0.host = "b"
            $0.port = 2
        }
        #expect(try #require(await values.next()) == ("b", 2, 1))
        // A slow reader receives the newest values.
        for port in 3...9 { settings.port = port }
        #expect(try #require(await values.next()) == ("b", 9, 1))
        settings.host = "last"
        try await store.close()
        #expect(try #require(await values.next()) == ("last", 9, 1))
        #expect(await values.next() == nil)
    }

    @Test("A stream of snapshots follows every key of a group and of its nested groups", arguments: Fixture.allCases)
    func snapshots(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        var snapshots = settings.snapshots().makeAsyncIterator()
        #expect(await snapshots.next()?.host == "localhost")
        settings.debug.level = 3
        #expect(await snapshots.next()?.debug.level == 3)
        _ = try storage.edit {
            $0["host"] = "external"
            $0["port"] = 9
        }
        let last = try #require(await snapshots.next())
        #expect((last.host, last.port, last.debug.level) == ("external", 9, 3))
    }

    @Test("A value that cannot be decoded leaves the last valid one in snapshots and streams of several keys", arguments: Fixture.allCases)
    func undecodable(fixture: Fixture) async throws {
        let storage = try fixture.make(["host": "a", "port": 1])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        var values = settings.values(of: \.host, \.port).makeAsyncIterator()
        #expect(try #require(await values.next()) == ("a", 1))
        _ = try storage.edit {
            $0["port"] = "no number"
            $0["host"] = "b"
        }
        #expect(try #require(await values.next()) == ("b", 1))
        let bad = settings.snapshot
        #expect(throws: StorageError.undecodable(key: "port", expected: "Int", found: "string")) {
            try bad.snapshot.value(for: StorageKey("port", default: 80))
        }
        settings.port = 5
        #expect(try #require(await values.next()) == ("b", 5))
        // Not the newer value: the snapshot is that of an earlier revision.
        #expect(bad.port == 1)
    }

    @Test("Edits of several keys are one revision, seen at once by all observers, and stored together", arguments: Fixture.allCases)
    func edit(fixture: Fixture) async throws {
        let storage = try fixture.make(["host": "a", "port": 1, "other": 1])
        let store = try storage.open()
        let settings = KeyedStore<ServerKeys>(store)
        let changes = Recorder<UInt64>()
        let tokens = [
            settings.addUpdateListener(for: \.host) { changes.record($0.revision) },
            settings.addUpdateListener(for: \.port) { changes.record($0.revision) },
        ]
        let sum = settings.edit { keys in
            keys.host = "b"
            keys.port += 1
            return keys.port
        }
        #expect(sum == 2)
        #expect(Set(changes.elements).count == 1 && changes.elements.count == 2)
        #expect((settings.host, settings.port) == ("b", 2))
        try await store.flush()
        #expect(try storage.entries == ["host": "b", "port": 2, "other": 1])
        withExtendedLifetime(tokens) {}
    }

    @Test("An edit that throws, or sets a value that cannot be stored, changes nothing")
    func refusedEdit() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<ServerKeys>(store)
        #expect(throws: CancellationError.self) {
            try settings.edit {
                $0.port = 1
                throw CancellationError()
            }
        }
        let date = StorageKey<[Double?]>("list", default: [])
        store.edit {
            $0[StorageKey("port", default: 80)] = 2
            $0[date] = [nil]
        }
        #expect(store.entries.isEmpty)
        var failures = store.failures.makeAsyncIterator()
        #expect(await failures.next() == .unencodable(key: "list[0]", reason: "a property list cannot hold nil"))
    }

    @Test("Edits of several threads that depend on what they read are not lost")
    func concurrentEdits() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<ServerKeys>(store)
        DispatchQueue.concurrentPerform(iterations: 4) { _ in
            for _ in 0..<500 {
                settings.edit {
                    $0.port += 1
                    $0.debug.level += 1
                }
            }
        }
        #expect((settings.port, settings.debug.level) == (2_080, 2_000))
    }

    @Test("Removing some keys in an edit is one revision")
    func reset() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<ServerKeys>(store)
        settings.host = "a"
        settings.port = 1
        settings.debug.level = 1
        let revision = store.revision
        store.edit {
            $0.remove(settings.stored(\.host).key)
            $0.remove(settings.stored(\.debug.level).key)
        }
        #expect(store.entries == ["port": 1])
        #expect(store.revision == revision + 1)
    }

    @Test("Streams of several keys end with their task and when they are released, and leave no observer")
    func lifetime() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<ServerKeys>(store)
        _ = settings.values(of: \.host, \.port)
        let task = Task { for await _ in settings.snapshots() {} }
        task.cancel()
        await task.value
        for await _ in settings.values(of: \.host, \.port) { break }
        // A stream does not retain its store.
        weak var released: ObservableStore?
        var stream: AsyncStream<(String, Int)>?
        do {
            let store = try ObservableStore(backend: InMemoryBackend())
            stream = KeyedStore<ServerKeys>(store).values(of: \.host, \.port)
            released = store
        }
        #expect(released == nil)
        var count = 0
        if let stream { for await _ in stream { count += 1 } }
        #expect(count <= 1)
    }
}
