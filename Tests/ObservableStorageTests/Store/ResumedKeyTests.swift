import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Changes of a key since a revision", .timeLimit(.minutes(10)))
struct ResumedKeyTests {
    typealias Site = ResumingTests.Site

    /// A key, and values of its entries that the test commits.
    struct Subject: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Compares what a live observer receives with what is told later.
        let check: @Sendable (_ seed: UInt64) async throws -> Void

        init<Value: Equatable>(_ description: String, _ key: StorageKey<Value>, _ candidates: [String: [PropertyListValue?]]) {
            testDescription = description
            check = { try await ResumedKeyTests.compare(key, candidates, seed: $0) }
        }
    }

    private static let scope = KeyScope(prefix: KeyPrefix(["scene"]), writesThrough: false)
    private static let numbers: [PropertyListValue?] = [1, 2, 3, nil, "many", 4.5]
    private static let servers: [PropertyListValue?] = [
        ["port": 1], ["port": 2, "host": "a"], ["port": 2, "host": "b"], ["host": "a"], ["port": "many"], "none", nil,
    ]

    static let subjects = [
        Subject("a number", Keys.count, ["count": numbers]),
        Subject("a number that may be missing", StorageKey<Int?>("count"), ["count": numbers]),
        Subject("any value", StorageKey<PropertyListValue?>("count"), ["count": numbers]),
        Subject("a coded value", StorageKey("count", codec: .json, default: [0]), ["count": ["[1]", "[2]", nil, "none", 1]]),
        Subject("a valid number", StorageKey("count", default: 0).validated(in: 2...3), ["count": numbers]),
        Subject("inside a dictionary", StorageKey("server", "port", default: 80), ["server": servers]),
        Subject("of a scene", Keys.count.scoped(to: scope), ["count": numbers, scope.prefix.name("count"): numbers]),
        Subject(
            "of a scene, inside a dictionary", StorageKey("server", "port", default: 80).scoped(to: scope),
            ["server": servers, scope.prefix.name("server"): servers]),
        Subject(
            "of a scene, coded", StorageKey("count", codec: .json, default: [0]).scoped(to: scope),
            ["count": ["[1]", "[2]", nil, "none"], scope.prefix.name("count"): ["[3]", nil, "no"]]),
    ]

    @Test("It is told later what an observer was told live", arguments: subjects, 0..<20)
    func likeLive(subject: Subject, seed: Int) async throws {
        try await subject.check(UInt64(seed))
    }

    private static func compare<Value: Equatable>(
        _ key: StorageKey<Value>, _ candidates: [String: [PropertyListValue?]], seed: UInt64
    ) async throws {
        var generator = SeededGenerator(seed: seed)
        let names = candidates.keys.sorted()
        func edits() -> ResumingTests.Edits {
            var edits: ResumingTests.Edits = [:]
            for name in names where Bool.random(using: &generator) {
                edits.updateValue(candidates[name]?.randomElement(using: &generator) ?? nil, forKey: name)
            }
            return edits
        }
        let site = try await Site(.memory, edits().compactMapValues { $0 })
        let live = site.store.changes(of: key)
        for _ in 0..<30 {
            try site.commit(edits())
            // Which values are known to be valid depends on what has been told before the next change.
            try await site.store.reload()
            let (first, continuation) = AsyncStream.makeStream(of: Change<Value>.self)
            let token = site.store.cache.observe(key, initial: true, .stream(continuation))
            for await _ in first { break }
            token.cancel()
        }
        let later = try #require(try await site.store.changes(of: key, since: site.start))
        try await site.store.close()
        let told = await all(live)
        #expect(!told.isEmpty)
        #expect(await all(later).map(Facts.init) == told.map(Facts.init))
    }

    private static func all<Element>(_ stream: AsyncStream<Element>) async -> [Element] {
        await stream.reduce(into: []) { $0.append($1) }
    }

    /// A change without the store's own count.
    private struct Facts<Value: Sendable & Equatable>: Equatable {
        let key: String
        let old: Value
        let new: Value
        let kind: ChangeKind
        let origin: ChangeOrigin
        let storageRevision: StorageRevision?

        init(_ change: Change<Value>) {
            (key, old, new, kind) = (change.key, change.oldValue, change.newValue, change.kind)
            (origin, storageRevision) = (change.origin, change.storageRevision)
        }
    }

    @Test("An edit inside a dictionary that is not stored yet is told after the stored ones, and only of its key")
    func pendingInside() async throws {
        let (port, host) = (StorageKey("server", "port", default: 80), StorageKey("server", "host", default: ""))
        let service = ServiceBackend(["server": ["host": "a"]])
        let site = try await Site(service)
        try site.commit(["server": ["host": "a", "port": 1]])
        await site.store.settle()
        service.hold(.beforeEdit)
        site.store[port] = 2
        await site.store.settle()
        async let ports = site.store.changes(of: port, since: site.start)
        async let hosts = site.store.changes(of: host, since: site.start)
        while site.store.cache.update({ $0.entries.entry("server")?.content.observers.count }) != 2 { await Task.yield() }
        service.release(.beforeEdit)
        try await site.store.flush()
        let (portChanges, hostChanges) = (try #require(try await ports), try #require(try await hosts))
        try await site.store.close()
        let told = await Self.all(portChanges)
        #expect(told.map(\.oldValue) == [80, 1] && told.map(\.newValue) == [1, 2])
        #expect(told.map(\.origin) == [.external, .local] && told.map(\.storageRevision?.number) == [1, nil])
        #expect(await Self.all(hostChanges).isEmpty)
    }

    @Test("A value that was set under an earlier name is the key's, and its move to the present name is no change")
    func renamed() async throws {
        let key = StorageKey("new", default: 0).renamed(from: "old")
        let site = try await Site(.memory, ["old": 1])
        try site.commit(["old": 2])
        try site.commit(["old": nil, "new": 2])
        try site.commit(["new": 3])
        try site.commit(["new": nil, "old": 4])
        await site.store.settle()
        let changes = try #require(try await site.store.changes(of: key, since: site.start))
        #expect(site.store[key] == 4)
        try await site.store.close()
        let told = await Self.all(changes)
        #expect(told.map(\.oldValue) == [1, 2, 3] && told.map(\.newValue) == [2, 3, 4])
        #expect(site.memory.load().values == ["old": 4])
    }

    @Test("A value that is invalid at the revision is not told with what was valid before it")
    func invalidAtStart() async throws {
        let site = try await Site(.memory, ["count": 1])
        try site.commit(["count": "many"])
        try site.commit(["count": "more"])
        try site.commit(["count": 2])
        await site.store.settle()
        let later = try #require(try await site.store.changes(of: Keys.count, since: site.revision(1)))
        let all = try #require(try await site.store.changes(of: Keys.count, since: site.start))
        try await site.store.close()
        let (told, toldAll) = (await Self.all(later), await Self.all(all))
        #expect(told.map(\.oldValue) == [0, 0] && told.map(\.newValue) == [0, 2])
        #expect(toldAll.map(\.oldValue) == [1, 1, 1] && toldAll.map(\.newValue) == [1, 1, 2])
        guard case .undecodable = toldAll[0].kind, case .undecodable = toldAll[1].kind else { return #expect(Bool(false)) }
        #expect(toldAll[2].kind == .set)
    }

    @Test("A key with a mandatory value has no changes")
    func mandatory() async throws {
        let backend = InMemoryBackend()
        let store = try ObservableStore(backend: backend, defaults: [], mandatory: [InMemoryBackend(["count": 7])])
        let start = try #require(store.storageRevision)
        _ = try backend.edit { entries in
            entries["count"] = 1
            entries["text"] = "a"
        }
        await store.settle()
        let counts = try #require(try await store.changes(of: Keys.count, since: start))
        let texts = try #require(try await store.changes(of: Keys.text, since: start))
        try await store.close()
        #expect(await Self.all(counts).isEmpty)
        #expect(await Self.all(texts).map(\.newValue) == ["a"])
    }

    @Test("A default value takes the place of a missing one", arguments: [true, false])
    func defaults(isOfAll: Bool) async throws {
        let backend = InMemoryBackend(["count": 1])
        let store = try ObservableStore(backend: backend, defaults: [InMemoryBackend(["count": 7])], mandatory: [])
        let start = try #require(store.storageRevision)
        _ = try backend.edit { $0["count"] = nil }
        _ = try backend.edit { $0["count"] = 2 }
        await store.settle()
        let counts = try #require(try await store.changes(of: StorageKey<PropertyListValue?>("count"), since: start))
        let all = try #require(try await store.changes(since: start))
        try await store.close()
        let told = await Self.all(isOfAll ? all : counts)
        #expect(told.map(\.oldValue) == [1, 7] && told.map(\.newValue) == [7, 2] && told.map(\.kind) == [.removed, .set])
    }

    @Test("User code of a key runs neither on the store's queue nor under its lock", arguments: ResumingTests.Kind.allCases)
    func userCode(kind: ResumingTests.Kind) async throws {
        let site = try await Site(kind)
        let decoded = Recorder<Int>()
        let codec = StorageCodec<Int>.custom(
            encode: { .integer(PropertyListInteger(Int64($0))) },
            decode: { [store = site.store] stored in
                #expect(!store.executor.isCurrent)
                // It may read the store.
                decoded.record(try Int(propertyListValue: stored) + store[Keys.text].count)
                return try Int(propertyListValue: stored)
            })
        let key = StorageKey("count", codec: codec, default: 0)
        for number in 1...3 { try site.commit(["count": .integer(PropertyListInteger(Int64(number)))]) }
        await site.store.settle()
        let changes = try #require(try await site.store.changes(of: key, since: site.start))
        // Each value is decoded once for what is told of the past.
        #expect(decoded.elements.filter { $0 == 2 }.count == 1)
        try await site.store.close()
        #expect(await Self.all(changes).map(\.newValue) == [1, 2, 3])
    }
}
