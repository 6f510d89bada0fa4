import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private struct Refusal: Error {}

private enum Host: String { case local, remote }

@Suite("Migrations", .timeLimit(.minutes(10)))
struct MigrationTests {
    private let interval = StorageKey("interval", default: 60).migrating(from: Double.self) { Int($0) }.migrating(from: String.self) {
        guard let number = Int($0) else { throw Refusal() }
        return number
    }

    @Test(
        "Each earlier type is read, and replaced by the present one on demand",
        arguments: Fixture.allCases, [(PropertyListValue.real(90.5), 90), ("120", 120), (30, 30)])
    func chain(fixture: Fixture, shape: (stored: PropertyListValue, value: Int)) async throws {
        let (stored, value) = shape
        let storage = try fixture.make(["interval": stored])
        let store = try storage.open()
        let changes = store.allChanges()
        #expect(store[interval] == value)
        #expect(store[interval] == value)
        #expect(store.entries == ["interval": stored])
        try store.migrateValue(of: interval)
        #expect(store[interval] == value)
        try await store.close()
        #expect(try storage.entries == ["interval": .integer(PropertyListInteger(Int64(value)))])
        var origins: [ChangeOrigin] = []
        for await change in changes { origins.append(change.origin) }
        #expect(origins == (stored == 30 ? [] : [.migration]))
    }

    @Test(
        "If several earlier types fit, the newest is used; one that throws leaves it to the next",
        arguments: [(3, "new 3"), (-3, "old -3")])
    func order(stored: Int64, value: String) throws {
        let key = StorageKey("name", default: "")
            .migrating(from: Int.self) { number in
                guard number > 0 else { throw Refusal() }
                return "new \(number)"
            }
            .migrating(from: Int.self) { "old \($0)" }
        let store = try ObservableStore(backend: InMemoryBackend(["name": .integer(PropertyListInteger(stored))]))
        #expect(store[key] == value)
    }

    @Test("A value that is set while an earlier one is converted is converted instead, and not overwritten")
    func setMeanwhile() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["interval": 1.5]))
        let converted = Recorder<Double>()
        let key = StorageKey("interval", default: 60).migrating(from: Double.self) { old in
            converted.record(old)
            // As another thread does.
            store[StorageKey("interval", default: 0.0)] = 2.5
            return Int(old)
        }
        try store.migrateValue(of: key)
        #expect(converted.elements == [1.5, 2.5])
        #expect(store.entries == ["interval": 2])
    }

    @Test("A migration that throws leaves the stored value unchanged", arguments: Fixture.allCases)
    func failure(fixture: Fixture) async throws {
        let storage = try fixture.make(["interval": "soon"])
        let store = try storage.open()
        #expect(store[interval] == 60)
        #expect(throws: StorageError.self) { try store.value(for: interval) }
        #expect(throws: StorageError.self) { try store.migrateValue(of: interval) }
        try await store.close()
        #expect(try storage.entries == ["interval": "soon"])
    }

    @Test("Of a value of an earlier type that cannot be converted, the reason is that of the conversion; of another value, its type")
    func reason() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["interval": "soon", "other": true]))
        #expect(
            throws: StorageError.undecodable(
                key: "interval", expected: "Int", found: "string, which was refused: \(Refusal())", underlying: UnderlyingError(Refusal()))
        ) { try store.value(for: interval) }
        let other = StorageKey("other", default: 60).migrating(from: String.self) { _ in throw Refusal() }
        #expect(throws: StorageError.undecodable(key: "other", expected: "Int", found: "boolean")) { try store.value(for: other) }
    }

    @Test("An observer receives the migrated value, also if another process writes an earlier type", arguments: Fixture.allCases)
    func observed(fixture: Fixture) async throws {
        let storage = try fixture.make(["interval": "5"])
        let store = try storage.open()
        var values = store.values(of: interval).makeAsyncIterator()
        #expect(await values.next() == 5)
        _ = try storage.edit { $0["interval"] = .real(7) }
        #expect(await values.next() == 7)
    }

    @Test("A value that is migrated does not overwrite what another process stored meanwhile", arguments: Fixture.allCases)
    func race(fixture: Fixture) async throws {
        let storage = try fixture.make(["interval": "5", "period": 1, "kept": "x"])
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        try store.migrateValue(of: interval)
        try store.migrateValue(of: StorageKey("delay", default: 0).renamed(from: "period"))
        #expect(store[StorageKey("kept", persistsDefault: .onFailure, default: 3)] == 3)
        #expect(store.entries == ["interval": 5, "delay": 1, "kept": 3])
        _ = try storage.edit { entries in
            entries["interval"] = 7
            entries["period"] = 2
        }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["interval": 7, "period": 2, "kept": 3])
        #expect(store.entries == ["interval": 7, "period": 2, "kept": 3])
        #expect(store[StorageKey("delay", default: 0).renamed(from: "period")] == 2)
    }

    @Test("A value migrated from an unwritten edit is written as well", arguments: Fixture.allCases)
    func migratedEdit(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        store[StorageKey("before", default: 0)] = 5
        try store.migrateValue(of: StorageKey("between", default: 0).renamed(from: "before"))
        try store.migrateValue(of: StorageKey("now", default: 0).renamed(from: "between"))
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["now": 5])
        #expect(store.entries == ["now": 5])
    }

    @Test("A value migrated from an edit that is just being written is written as well", arguments: Fixture.allCases)
    func migratedWhileWriting(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        store[StorageKey("before", default: 0)] = 5
        try store.migrateValue(of: StorageKey("between", default: 0).renamed(from: "before"))
        backend.pause {
            backend.pause(nil)
            do {
                try store.migrateValue(of: StorageKey("now", default: 0).renamed(from: "between"))
            } catch {
                Issue.record(error)
            }
        }
        backend.fail(nil)
        try await store.flush()
        try await store.flush()
        #expect(try storage.entries == ["now": 5])
        #expect(store.entries == ["now": 5])
    }

    @Test("An edit made meanwhile is written, whatever was stored before", arguments: Fixture.allCases)
    func settingAfterMigration(fixture: Fixture) async throws {
        let storage = try fixture.make(["interval": "5"])
        let backend = UnreliableBackend(try storage.backend)
        let store = try ObservableStore(backend: backend)
        backend.fail(.unwritable(file: "f", reason: "full"))
        try store.migrateValue(of: interval)
        store[interval] = 6
        _ = try storage.edit { $0["interval"] = 7 }
        backend.fail(nil)
        try await store.flush()
        #expect(try storage.entries == ["interval": 6])
    }

    @Test("A renamed entry is read, with its earlier type, and replaced when the key is set", arguments: Fixture.allCases)
    func renaming(fixture: Fixture) async throws {
        let key = interval.renamed(from: "period").renamed(from: "delay")
        let storage = try fixture.make(["delay": "10", "period": .real(20)])
        let store = try storage.open()
        #expect(store[key] == 20)
        #expect(store.entries == ["delay": "10", "period": .real(20)])
        store[key] = 30
        try await store.close()
        #expect(try storage.entries == ["interval": 30])
    }

    @Test("Reading writes the default only if the key requests it", arguments: Fixture.allCases)
    func persistedDefaults(fixture: Fixture) throws {
        let store = try fixture.make(["bad": "x"]).open()
        #expect(store[StorageKey("missing", default: 1)] == 1)
        #expect(store[StorageKey("bad", persistsDefault: .whenMissing, default: 1)] == 1)
        #expect(store.entries == ["bad": "x"])
        #expect(store[StorageKey("missing", persistsDefault: .whenMissing, default: 1)] == 1)
        #expect(store[StorageKey("bad", persistsDefault: .onFailure, default: 2)] == 2)
        #expect(store.entries == ["missing": 1, "bad": 2])
        #expect(store[StorageKey("new", persistsDefault: .always, default: 3)] == 3)
        #expect(store[StorageKey("missing", persistsDefault: .always, default: "text")] == "text")
        #expect(store[StorageKey("server", "port", persistsDefault: .whenMissing, default: 80)] == 80)
        #expect(store[StorageKey("server", "host", codec: .rawValue, persistsDefault: .always, default: Host.local)] == .local)
        #expect(store.entries == ["missing": "text", "bad": 2, "new": 3, "server": ["port": 80, "host": "local"]])
    }

    @Test("A migration to version 0, which every store has, or below is a mistake that ends the process")
    func versions() async {
        await #expect(processExitsWith: .failure) { _ = StoreMigration(to: 0) { _ in } }
        await #expect(processExitsWith: .success) { _ = StoreMigration(to: 1) { _ in } }
    }

    @Test("Numbered migrations run once, in order, across stores", arguments: Fixture.allCases)
    func numbered(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let runs = Recorder<Int>()
        let migrations = [
            StoreMigration(to: 2) { transaction in
                runs.record(2)
                transaction[Keys.count] *= 10
            },
            StoreMigration(to: 1) { transaction in
                runs.record(1)
                transaction[Keys.count] = 4
            },
        ]
        let stores = [try storage.open(), try storage.open()]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try await store.migrate(migrations) } }
            try await group.waitForAll()
        }
        try await stores[0].migrate(migrations)
        // Without a lock, the slower one runs again, and finds nothing left to do.
        if !Fixture.optimistic.contains(fixture) { #expect(runs.elements == [1, 2]) }
        let store = try storage.open()
        #expect(store[Keys.count] == 40)
        #expect(store.schemaVersion == 2)
    }

    @Test("Entries that a later version has migrated are an error for one that does not know its migration", arguments: Fixture.quick)
    func laterVersion(fixture: Fixture) async throws {
        let store = try fixture.make(["count": 1]).open()
        let migrations = (1...3).map { version in StoreMigration(to: version) { $0[Keys.count] += 1 } }
        try await store.migrate(migrations)
        let error = await #expect(throws: StorageError.self) { try await store.migrate(Array(migrations[..<2])) }
        #expect(error?.description.contains("it was migrated to version 3, and this program knows versions up to 2") == true)
        try await store.migrate([])
        #expect(store[Keys.count] == 4)
    }

    /// What a program does at each start.
    private func migrateAndImport(_ store: ObservableStore) async throws {
        try await store.migrate([StoreMigration(to: 1) { $0[Keys.count] *= 60 }])
        try await store.importEntries(from: InMemoryBackend(["text": "old"]), once: "old settings")
    }

    @Test("Resetting a store removes its values, and repeats neither migrations nor imports", arguments: Fixture.allCases)
    func reset(fixture: Fixture) async throws {
        let storage = try fixture.make(["count": 1])
        let store = try storage.open()
        try await migrateAndImport(store)
        #expect(store[Keys.count] == 60 && store[Keys.text] == "old")
        store.reset()
        #expect(!store.isSet(Keys.count) && !store.isSet(Keys.text))
        store[Keys.count] = 30
        try await store.flush()
        let later = try storage.open()
        try await migrateAndImport(later)
        #expect(later[Keys.count] == 30 && !later.isSet(Keys.text))
    }

    @Test(
        "What is set after others have removed all entries is not migrated again, and imports are not repeated",
        arguments: Fixture.allCases, [true, false])
    func removedByOthers(fixture: Fixture, isNoticed: Bool) async throws {
        let storage = try fixture.make(["count": 1])
        let store = try storage.open()
        try await migrateAndImport(store)
        _ = try storage.edit { entries in for name in entries.values.keys { entries[name] = nil } }
        if isNoticed {
            try await store.reload()
            #expect(store.schemaVersion == 0 && store.entries.isEmpty)
            store.remove(Keys.text)
            try await store.flush()
            #expect(try storage.entries.isEmpty)
        }
        let changes = store.allChanges()
        if isNoticed { store[Keys.count] = 30 } else { try await store.update { $0[Keys.count] = 30 } }
        try await store.flush()
        #expect(store.schemaVersion == 1)
        try await store.close()
        let all = await changes.reduce(into: []) { $0.append($1) }
        let records = all.filter { $0.key.hasPrefix("ObservableStorage.") && $0.newValue != nil }
        #expect(records.map(\.origin) == [.local, .local])
        let later = try storage.open()
        try await migrateAndImport(later)
        #expect(later[Keys.count] == 30 && !later.isSet(Keys.text))
    }

    @Test("The version is stored again with the last write of a store whose file was deleted")
    func deletedFile() async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let migration = StoreMigration(to: 1) { $0[Keys.count] *= 60 }
        do {
            let store = try ObservableStore(at: file)
            try await store.migrate([migration])
            try await store.reload()
            try FileManager.default.removeItem(at: file)
            store[Keys.count] = 30
        }
        var later: ObservableStore?
        // The last write follows the release.
        while later?[Keys.count] != 30 { later = try ObservableStore(at: file) }
        try await later?.migrate([migration])
        #expect(later?[Keys.count] == 30 && later?.schemaVersion == 1)
    }

    @Test("A numbered migration that throws has no effect", arguments: Fixture.allCases)
    func numberedFailure(fixture: Fixture) async throws {
        let store = try fixture.make(["count": 1]).open()
        await #expect(throws: Refusal.self) {
            try await store.migrate([StoreMigration(to: 1) { $0[Keys.count] = 9 }, StoreMigration(to: 2) { _ in throw Refusal() }])
        }
        #expect(store.entries == ["count": 1])
        #expect(store.schemaVersion == 0)
    }

    @Test("Entries of another storage are imported once, and existing entries are kept", arguments: Fixture.allCases)
    func importing(fixture: Fixture) async throws {
        let store = try fixture.make(["count": 1]).open()
        let old = InMemoryBackend(["count": 7, "text": "old"])
        try await store.importEntries(from: old, once: "old settings")
        #expect(store[Keys.count] == 1)
        #expect(store[Keys.text] == "old")
        store.remove(Keys.text)
        try await store.importEntries(from: old, once: "old settings")
        #expect(!store.isSet(Keys.text))
    }

    @Test("Mandatory values neither prevent migrations and imports nor take part in them, and no layer has their records")
    func layers() async throws {
        let backend = InMemoryBackend(["count": 5, "old": "mine"])
        let mandatory = InMemoryBackend(["ObservableStorage.version": 3, "ObservableStorage.imports": ["old settings"], "count": 1])
        let store = try ObservableStore(
            backend: backend, defaults: [InMemoryBackend(["ObservableStorage.version": 1, "text": "theirs"])], mandatory: [mandatory])
        #expect(store.schemaVersion == 0)
        try await store.migrate([
            StoreMigration(to: 1) { transaction in
                transaction[Keys.count] *= 10
                transaction[StorageKey("copy", default: "")] = transaction[Keys.text]
            }
        ])
        try await store.importEntries(from: InMemoryBackend(["count": 7, "text": "old"]), once: "old settings")
        #expect(store.schemaVersion == 1 && store[Keys.count] == 1)
        let own = backend.load().values.filter { !$0.key.hasPrefix("ObservableStorage.") }
        #expect(own == ["count": 50, "old": "mine", "copy": "theirs", "text": "old"])
    }

    @Test("The records of another store, of its migrations and imports, are not imported", arguments: Fixture.quick)
    func importingRecords(fixture: Fixture) async throws {
        let old = InMemoryBackend(["count": 7])
        let other = try ObservableStore(backend: old)
        try await other.migrate([StoreMigration(to: 7) { $0[Keys.count] += 1 }])
        try await other.importEntries(from: InMemoryBackend(["text": "theirs"]), once: "texts")
        let store = try fixture.make().open()
        try await store.importEntries(from: old, once: "old settings")
        #expect(store[Keys.count] == 8 && store.schemaVersion == 0)
        try await store.migrate([StoreMigration(to: 1) { $0[Keys.count] *= 2 }])
        store.remove(Keys.text)
        try await store.importEntries(from: InMemoryBackend(["text": "own"]), once: "texts")
        #expect(store[Keys.count] == 16 && store[Keys.text] == "own")
    }

    @Test("A domain of user defaults is imported with the types of its values", arguments: Fixture.ofEveryType)
    func importingUserDefaults(fixture: Fixture) async throws {
        let domain = TemporaryDomain()
        let defaults = try domain.defaults
        defaults.set(true, forKey: "boolean")
        defaults.set(1, forKey: "integer")
        defaults.set(1.0, forKey: "real")
        defaults.set(Date(timeIntervalSinceReferenceDate: 5), forKey: "date")
        defaults.set(["one": [1, true, 1.0, "1", Data([1])]] as [String: Any], forKey: "nested")
        let storage = try fixture.make()
        let store = try storage.open()
        try await store.importEntries(from: domain.makeBackend(), once: "user defaults")
        defaults.set(2, forKey: "integer")
        try await store.importEntries(from: domain.makeBackend(), once: "user defaults")
        let expected: [String: PropertyListValue] = [
            "boolean": true, "integer": 1, "real": .real(1), "date": .date(Date(timeIntervalSinceReferenceDate: 5)),
            "nested": ["one": [1, true, .real(1), "1", .data(Data([1]))]],
        ]
        #expect(try storage.entries.filter { !$0.key.hasPrefix("ObservableStorage.") } == expected)
        #expect(defaults.integer(forKey: "integer") == 2)
    }
}
