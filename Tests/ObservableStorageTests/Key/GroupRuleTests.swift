import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private struct SpanKeys: KeyGroup {
    let lower = StorageKey("lower", default: 0)
    let upper = StorageKey("span", "upper", default: 10)
    let title = StorageKey("title", default: "").renamed(from: "name").validated("it is too long") { $0.count <= 200 }

    func validate(_ snapshot: KeyedSnapshot<SpanKeys>) throws {
        if snapshot.lower > snapshot.upper { throw Reversed(lower: snapshot.lower, upper: snapshot.upper) }
    }

    struct Reversed: Error, CustomStringConvertible {
        let lower: Int
        let upper: Int
        var description: String { "\(lower) is more than \(upper)" }
    }
}

private struct OuterKeys: KeyGroup {
    let span = SpanKeys()
    let own = StorageKey("own", default: 0)
}

private struct StoringKeys: KeyGroup {
    let lower = StorageKey("lower", default: 0)
    let identifier = StorageKey("identifier", persistsDefault: .whenMissing, default: "made")

    func validate(_ snapshot: KeyedSnapshot<StoringKeys>) throws {
        if snapshot.lower > 10 { throw SpanKeys.Reversed(lower: snapshot.lower, upper: 10) }
    }
}

/// Keys with a rule that makes an edit while it checks values for the first time.
private struct EditingKeys: KeyGroup {
    static let edit = Lock<(@Sendable () -> Void)?>(nil)

    let lower = StorageKey("lower", default: 0)

    func validate(_ snapshot: KeyedSnapshot<EditingKeys>) throws {
        Self.edit.exchange(nil)?()
        if snapshot.lower > 10 { throw SpanKeys.Reversed(lower: snapshot.lower, upper: 10) }
    }
}

/// Keys with a rule that changes something else a number of times while it checks values.
private struct BusyKeys: KeyGroup {
    static let meanwhile = Lock<(change: (@Sendable () -> Void)?, remaining: Int)>((nil, 0))

    let lower = StorageKey("lower", default: 0)

    func validate(_ snapshot: KeyedSnapshot<BusyKeys>) throws {
        if snapshot.lower > 10 { throw SpanKeys.Reversed(lower: snapshot.lower, upper: 10) }
        let change = Self.meanwhile.withLock { meanwhile in
            meanwhile.remaining -= 1
            return meanwhile.remaining > 0 ? meanwhile.change : nil
        }
        change?()
    }
}

/// Keys of which one is computed.
private struct BoundKeys: KeyGroup {
    let lower = StorageKey("lower", default: 0)
    var bound: StorageKey<Int> { StorageKey("bound", default: 10) }

    func validate(_ snapshot: KeyedSnapshot<BoundKeys>) throws {
        if snapshot.lower > snapshot.bound { throw SpanKeys.Reversed(lower: snapshot.lower, upper: snapshot.bound) }
    }
}

/// Keys with a rule that counts how often it checks values.
private struct CountingKeys: KeyGroup {
    static let checks = Lock(0)

    let lower = StorageKey("lower", default: 0)

    func validate(_ snapshot: KeyedSnapshot<CountingKeys>) throws {
        Self.checks.withLock { $0 += 1 }
        if snapshot.lower > 10 { throw SpanKeys.Reversed(lower: snapshot.lower, upper: 10) }
    }
}

/// Keys with a rule that does not read the one that is computed.
private struct ComputingKeys: KeyGroup {
    let lower = StorageKey("lower", default: 0)
    var other: StorageKey<Int> { StorageKey("other", default: 0) }

    func validate(_ snapshot: KeyedSnapshot<ComputingKeys>) throws {
        if snapshot.lower > 10 { throw SpanKeys.Reversed(lower: snapshot.lower, upper: 10) }
    }
}

/// Keys with a rule that depends on all entries of the store.
private struct CrowdedKeys: KeyGroup {
    let lower = StorageKey("lower", default: 0)
    var other: StorageKey<Int> { StorageKey("other", default: 0) }

    func validate(_ snapshot: KeyedSnapshot<CrowdedKeys>) throws {
        if snapshot.snapshot.entries.count > 2 { throw SpanKeys.Reversed(lower: 2, upper: snapshot.snapshot.entries.count) }
    }
}

/// Keys of which one requires another.
private struct ProxyKeys: KeyGroup {
    struct Refusal: Error {}

    let usesProxy = StorageKey("usesProxy", default: false)
    let host = StorageKey("host", default: String?.none)

    func validate(_ snapshot: KeyedSnapshot<ProxyKeys>) throws {
        if snapshot.usesProxy, snapshot.host == nil { throw Refusal() }
    }
}

private func reversed(_ lower: Int, _ upper: Int) -> StorageError {
    .invalidGroup(group: "SpanKeys", reason: "\(lower) is more than \(upper)")
}

@Suite("Setting a key of a group with a rule", .timeLimit(.minutes(10)))
struct GroupRuleTests {
    private let store: ObservableStore
    private let settings: KeyedStore<SpanKeys>
    private let lower = StorageKey("lower", default: 0)

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
        settings = KeyedStore<SpanKeys>(store)
    }

    @Test("Values that are read are checked again only after something has changed")
    func repeatedReads() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<CountingKeys>(store)
        #expect(settings.lower == 0)
        let checks = CountingKeys.checks.withLock { $0 }
        #expect(settings.lower == 0)
        #expect(CountingKeys.checks.withLock { $0 } == checks)
        // Not as a key of the group, so that its rule does not refuse it.
        let lower = StorageKey("lower", default: 0)
        store[lower] = 11
        #expect(settings.lower == 0)
        #expect(CountingKeys.checks.withLock { $0 } == checks + 1)
        store[lower] = 2
        #expect(settings.lower == 2)
    }

    @Test("A value that the group computes, and that makes the others invalid, is reported when one of them is read")
    func computed() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<BoundKeys>(store)
        settings.lower = 3
        #expect(settings.lower == 3)
        store[StorageKey("bound", default: 0)] = 1
        #expect(settings.lower == 3 && settings.bound == 10)
        try await store.close()
        var failures = 0
        for await case .invalidGroup in store.failures { failures += 1 }
        #expect(failures == 1)
    }

    @Test("The last valid values are those on which the rule depends: a computed key that it has not read has its present value")
    func unreadKeys() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let (settings, computed) = (KeyedStore<ComputingKeys>(store), StorageKey("other", default: 0))
        settings.lower = 3
        store[computed] = 1
        store[lower] = 99
        #expect(settings.lower == 3 && settings.other == 1)
        store[computed] = 2
        let snapshot = settings.snapshot
        #expect(snapshot.lower == 3 && snapshot.other == 2 && snapshot.snapshot.entries == ["lower": 3, "other": 2])
    }

    @Test("A rule that reads all entries has all of them among its last valid values")
    func allEntries() throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let settings = KeyedStore<CrowdedKeys>(store)
        settings.lower = 3
        store.edit { edits in
            edits[lower] = 4
            for name in ["other", "third"] { edits[StorageKey(name, default: 0)] = 1 }
        }
        #expect(settings.lower == 3 && settings.other == 0)
        #expect(settings.snapshot.snapshot.entries == ["lower": 3])
    }

    @Test("It is one revision, of which all but the writer's own listener are told, and none if the value is refused or the same")
    func told() throws {
        let (own, others) = (Recorder<Int>(), Recorder<String>())
        let token = settings.addUpdateListener(for: \.upper) { own.record($0.newValue) }
        let tokens = [
            settings.addUpdateListener(for: \.upper) { others.record("\($0.key): \($0.oldValue) \($0.newValue), \($0.revision)") },
            store.addUpdateListener(for: StorageKey<[String: Int]>("span", default: [:])) { others.record("\($0.key): \($0.newValue)") },
        ]
        let upper = settings.stored(\.upper)
        try upper.set(20, muting: token)
        try upper.set(20)
        #expect(throws: reversed(0, -1)) { try upper.set(-1) }
        #expect(throws: reversed(0, -1)) { try upper.modify { $0 = -1 } }
        try upper.modify { $0 += 1 }
        #expect(own.elements == [21])
        #expect(others.elements == [".span.upper: 10 20, 1", "span: [\"upper\": 20]", ".span.upper: 20 21, 2", "span: [\"upper\": 21]"])
        #expect(store.entries == ["span": ["upper": 21]] && store.revision == 2)
        withExtendedLifetime((token, tokens)) {}
    }

    @Test("A listener that makes the values invalid reads the valid ones that were just set, and the error is reported once")
    func invalidInListener() async throws {
        let failures = store.failures
        let upper = StorageKey("span", "upper", default: 10)
        let read = Recorder<Int>()
        let token = settings.addUpdateListener(for: \.lower) { [store, settings] _ in
            // A key without the rule.
            store[upper] = 0
            read.record(settings.lower)
        }
        settings.lower = 3
        #expect(read.elements == [3] && settings.lower == 3)
        token.cancel()
        try await store.close()
        var reasons: [StorageError] = []
        for await failure in failures { reasons.append(failure) }
        #expect(reasons == [reversed(3, 0)])
    }

    @Test("So does one of an edit or a transaction, also of a value that is not valid by itself", arguments: [false, true])
    func invalidInListenerOfEdit(isTransaction: Bool) async throws {
        let (title, upper) = (StorageKey("title", default: ""), StorageKey("span", "upper", default: 10))
        settings.title = "short"
        store[title] = String(repeating: "x", count: 201)
        let read = Recorder<String>()
        let token = settings.addUpdateListener(for: \.lower) { [store, settings] _ in
            store[upper] = 0
            read.record("\(settings.lower) \(settings.title)")
        }
        if isTransaction { try await settings.update { $0.lower = 3 } } else { settings.edit { $0.lower = 3 } }
        #expect(try await read.elements(count: 1) == ["3 short"])
        withExtendedLifetime(token) {}
    }

    @Test("An edit in memory during a transaction stays among the last valid values")
    func editDuringTransaction() async throws {
        let upper = StorageKey("span", "upper", default: 10)
        let read = Recorder<String>()
        let token = settings.addUpdateListener(for: \.lower) { [store, settings] _ in
            store[upper] = 0
            read.record(settings.title)
        }
        try await settings.update { [settings] edits in
            settings.title = "short"
            edits.lower = 3
        }
        #expect(try await read.elements(count: 1) == ["short"])
        withExtendedLifetime(token) {}
    }

    @Test("Reading a key that stores its default does not check a rule in a transaction")
    func storedDefault() async throws {
        let settings = KeyedStore<StoringKeys>(store)
        store[lower] = 99
        let key = settings.stored(\.identifier).key
        #expect(try await store.update { $0[key] } == "made")
        #expect(store.entries == ["lower": 99, "identifier": "made"])
    }

    @Test("A reader that checks earlier values until later ones were set does not bring them back")
    func readMeanwhile() throws {
        let settings = KeyedStore<EditingKeys>(store)
        EditingKeys.edit.exchange { settings.lower = 3 }
        _ = settings.lower
        store[lower] = 99
        #expect(settings.lower == 3)
    }

    @Test("Edits of a key of the group, or of a nested group, are checked in any edit or transaction of several keys")
    func several() async throws {
        let outer = KeyedStore<OuterKeys>(store)
        let key = settings.stored(\.lower).key
        let failures = store.failures
        outer.edit { edits in
            edits.own = 1
            edits.span.lower = 99
        }
        store.edit { $0[key] = 98 }
        await #expect(throws: reversed(97, 10)) { try await outer.update { $0.span.lower = 97 } }
        await #expect(throws: reversed(96, 10)) { try await store.update { $0[key] = 96 } }
        #expect(store.entries.isEmpty)
        outer.edit { edits in
            edits.span.lower = 20
            edits.span.upper = 30
        }
        #expect(store.entries == ["lower": 20, "span": ["upper": 30]])
        // What is removed is not checked.
        store.edit { $0.remove(settings.stored(\.upper).key) }
        #expect(store.entries == ["lower": 20])
        try await store.close()
        var reasons: [StorageError] = []
        for await failure in failures { reasons.append(failure) }
        #expect(reasons.prefix(2) == [reversed(99, 10), reversed(98, 10)])
    }

    @Test("Nil is checked as other values are, unless the value is removed")
    func settingNil() async throws {
        let settings = KeyedStore<ProxyKeys>(store)
        try settings.stored(\.host).set("h")
        settings.usesProxy = true
        let key = settings.stored(\.host).key
        let refused = StorageError.invalidGroup(group: "ProxyKeys", reason: "\(ProxyKeys.Refusal())")
        #expect(throws: refused) { try settings.stored(\.host).set(nil) }
        #expect(throws: refused) { try settings.stored(\.host).modify { $0 = nil } }
        settings.host = nil
        settings.edit { $0.host = nil }
        await #expect(throws: refused) { try await settings.update { $0.host = nil } }
        #expect(store.entries == ["usesProxy": true, "host": "h"])
        store.remove(key)
        #expect(store.entries == ["usesProxy": true])
    }

    @Test("A check is not repeated because other keys are changed meanwhile, by the rule itself or by another thread")
    func unrelated() async throws {
        let settings = KeyedStore<BusyKeys>(store)
        let count = StorageKey("count", default: 0)
        let change: @Sendable () -> Void = { [store] in store[count] += 1 }
        let elsewhere: @Sendable () -> Void = {
            let done = DispatchSemaphore(value: 0)
            Thread.detachNewThread {
                change()
                done.signal()
            }
            done.wait()
        }
        let ways: [@Sendable () async throws -> Void] = [
            { settings.lower += 1 }, { try settings.stored(\.lower).modify { $0 += 1 } }, { settings.edit { $0.lower += 1 } },
        ]
        var expected = 0
        for change in [change, elsewhere] {
            for way in ways {
                BusyKeys.meanwhile.exchange((change, 100))
                try await way()
                let (_, remaining) = BusyKeys.meanwhile.exchange((nil, 0))
                expected += 1
                #expect(settings.lower == expected && remaining > 90)
            }
        }
    }

    @Test("A transaction depends on the keys of its rules, and not on all entries")
    func dependencies() async throws {
        let service = ServiceBackend()
        let settings = KeyedStore<SpanKeys>(try await ObservableStore.open(service))
        try await settings.update { $0.lower = 3 }
        #expect(service.readKeys.last == ["lower", "span", "title", "name"])
    }

    @Test("A listener can do so, and is refused what is not valid")
    func inListener() async throws {
        let errors = Recorder<StorageError>()
        let token = settings.addUpdateListener(for: \.lower) { [settings] change in
            do throws(StorageError) {
                try settings.stored(\.upper).set(change.newValue + 1)
                try settings.stored(\.upper).set(change.newValue - 1)
            } catch {
                errors.record(error)
            }
        }
        settings.lower = 3
        #expect(errors.elements == [reversed(3, 2)])
        try settings.stored(\.lower).modify { $0 += 1 }
        #expect(errors.elements == [reversed(3, 2), reversed(4, 3)])
        // On the store's own queue, which delivers elsewhere.
        await store.isolated { [settings] _ in settings.lower = 5 }
        #expect(try await errors.elements(count: 3).last == reversed(5, 4))
        #expect((settings.lower, settings.upper) == (5, 6))
        withExtendedLifetime(token) {}
    }

    @Test("It can be done inside an edit, a modification or a transaction, all of which are made")
    func nested() async throws {
        settings.edit { edits in
            edits.lower = 1
            settings.upper = 20
        }
        #expect(store.entries == ["lower": 1, "span": ["upper": 20]])
        var runs = 0
        try settings.stored(\.lower).modify { lower in
            runs += 1
            lower += 1
            settings.upper += 1
        }
        #expect(store.entries == ["lower": 2, "span": ["upper": 21]] && runs == 1)
        try await settings.update { [settings] edits in
            edits.lower = 3
            try settings.stored(\.upper).set(30)
        }
        #expect(store.entries == ["lower": 3, "span": ["upper": 30]])
        // Inside it, only what it has not edited yet is known to others.
        #expect(throws: reversed(40, 30)) {
            try settings.edit { edits in
                edits.upper = 50
                try settings.stored(\.lower).set(40)
            }
        }
        #expect(store.entries == ["lower": 3, "span": ["upper": 30]])
    }

    @Test("No thread breaks the rule by what it sets or modifies while others do")
    func threads() {
        let upper = StorageKey("span", "upper", default: 10)
        let broken = Recorder<String>()
        let token = store.addUpdateListener(for: lower) { [store, lower] _ in
            let snapshot = store.snapshot
            if snapshot[lower] > snapshot[upper] { broken.record("\(snapshot[lower]) \(snapshot[upper])") }
        }
        let refused = Recorder<StorageError>()
        DispatchQueue.concurrentPerform(iterations: 400) { number in
            do {
                switch number % 4 {
                case 0: try settings.stored(\.lower).modify { $0 += 1 }
                case 1: try settings.stored(\.upper).modify { $0 -= 1 }
                case 2: try settings.stored(\.upper).set(number % 16)
                default: try settings.stored(\.lower).set(number % 16)
                }
            } catch let error as StorageError {
                refused.record(error)
            } catch {
                Issue.record(error)
            }
        }
        #expect(broken.elements.isEmpty)
        #expect(refused.elements.allSatisfy { if case .invalidGroup = $0 { true } else { false } })
        let snapshot = store.snapshot
        #expect(snapshot[lower] <= snapshot[upper])
        withExtendedLifetime(token) {}
    }

    @Test("In a scene, the rule is that of the scene's values", arguments: [false, true])
    func scene(writesThrough: Bool) throws {
        let scene = KeyedStore<SpanKeys>(SceneStore(sceneID: "one", base: store, writesThrough: writesThrough))
        settings.upper = 5
        #expect(throws: reversed(6, 5)) { try scene.stored(\.lower).set(6) }
        try scene.stored(\.lower).set(4)
        #expect((scene.lower, settings.lower) == (4, writesThrough ? 4 : 0))
        try scene.stored(\.upper).modify { $0 += 5 }
        #expect((scene.upper, settings.upper) == (10, writesThrough ? 10 : 5))
    }

    @Test("What a discarded scene or a read-only store refuses is not among the last valid values")
    func refusedAfterwards() async throws {
        let scene = KeyedStore<SpanKeys>(SceneStore(sceneID: "one", base: store))
        store.discard(sceneID: "one")
        #expect(throws: reversed(11, 10)) { try scene.stored(\.lower).set(11) }
        #expect(throws: StorageError.discardedScene(key: "scenes/one/lower")) { try scene.stored(\.lower).set(3) }
        store[lower] = 99
        #expect(scene.lower == 0)

        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        func write(_ entries: PropertyListValue) throws { try entries.encoded(as: .xml).write(to: file, options: .atomic) }
        try write(["lower": 1])
        let reader = try ObservableStore(at: file, access: .readOnly)
        let read = KeyedStore<SpanKeys>(reader)
        #expect(throws: reversed(11, 10)) { try read.stored(\.lower).set(11) }
        #expect(throws: StorageError.readOnly(file: file.path)) { try read.stored(\.lower).set(3) }
        #expect(throws: StorageError.readOnly(file: file.path)) { try read.stored(\.lower).modify { $0 = 3 } }
        try write(["lower": 99])
        try await reader.reload()
        #expect(read.lower == 1)
    }

    @Test("Mandatory values and closed stores are refused after the rule, and what cannot be encoded before it")
    func order() async throws {
        let folder = try TemporaryFolder()
        let mandatory = folder.file("mandatory.plist")
        try PropertyListValue.dictionary(["span": ["upper": 5]]).encoded(as: .xml).write(to: mandatory)
        let store = try ObservableStore(at: folder.file("settings.plist"), mandatory: [mandatory])
        let settings = KeyedStore<SpanKeys>(store)
        #expect(throws: StorageError.mandatory(key: ".span.upper")) { try settings.stored(\.upper).set(7) }
        store[lower] = 6
        #expect(throws: reversed(6, 5)) { try settings.stored(\.title).set("short") }
        let long = StorageError.unencodable(key: "title", reason: "it is too long")
        #expect(throws: long) { try settings.stored(\.title).set(String(repeating: "x", count: 201)) }
        try settings.stored(\.lower).set(5)
        try await store.close()
        #expect(throws: reversed(6, 5)) { try settings.stored(\.lower).modify { $0 += 1 } }
        #expect(throws: StorageError.closed) { try settings.stored(\.lower).set(4) }
    }

    @Test("An override neither hides what is not valid, nor is it modified")
    func overrides() throws {
        let overrides = [OverrideSource.arguments(["--lower", "5"])]
        let settings = KeyedStore<SpanKeys>(try ObservableStore(backend: InMemoryBackend(["lower": 1]), overrides: overrides))
        try settings.stored(\.lower).modify { $0 += 1 }
        #expect(throws: reversed(11, 10)) { try settings.stored(\.lower).set(11) }
        // Less than the override: the last valid values are in effect in this process.
        try settings.stored(\.upper).set(4)
        #expect((settings.lower, settings.upper) == (5, 10))
        #expect(settings.store.entries == ["lower": 2, "span": ["upper": 4]])
    }

    @Test("If the storage refuses the new value of a renamed key, the value under the earlier name is kept")
    func renamed() async throws {
        let service = ServiceBackend(["name": "kept"])
        service.refuse { entries in entries.editedKeys.contains { entries[$0]?.string?.count ?? 0 > 100 } }
        let store = try await ObservableStore.open(service)
        let settings = KeyedStore<SpanKeys>(store)
        let error = await store.isolated { store in
            settings.title = "short"
            settings.title = String(repeating: "x", count: 101)
            return await store.flushFailure()
        }
        #expect(error != nil && settings.title == "kept")
        #expect(service.memory.load().values == ["name": "kept"])
    }

    @Test("In another store, the key is set without the rule of this one, whose values it does not concern")
    func otherStore() throws {
        let other = try ObservableStore(backend: InMemoryBackend())
        settings.upper = 20
        let key = settings.stored(\.lower).key
        try other.set(30, for: key)
        try other.stored(key).modify { $0 += 1 }
        #expect(other.entries == ["lower": 31])
        store[lower] = 99
        #expect((settings.lower, settings.upper) == (0, 20))
    }
}
