import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private struct SpanKeys: KeyGroup {
    let prefix: String? = "span"
    let lower = StorageKey("lower", default: 0)
    let upper = StorageKey("upper", default: 10)

    func validate(_ snapshot: KeyedSnapshot<SpanKeys>) throws {
        if snapshot.lower > snapshot.upper { throw CancellationError() }
    }
}

private struct OuterKeys: KeyGroup {
    let limit = StorageKey("limit", default: 100)
    let span = SpanKeys()
    let other = OtherKeys()

    struct OtherKeys: KeyGroup {
        let prefix: String? = "other"
        let span = SpanKeys()
        let title = StorageKey("title", default: "")
    }

    var computed: SpanKeys { SpanKeys() }

    func validate(_ snapshot: KeyedSnapshot<OuterKeys>) throws {
        if snapshot.span.upper > snapshot.limit { throw CancellationError() }
    }
}

private typealias Settings = KeyedStore<OuterKeys>
private typealias Edit = @Sendable (Settings) async throws -> Void

/// The edit that the closure makes, which may report the error instead of throwing it.
private struct Way: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let edit: Edit

    init(_ name: String, _ edit: @escaping Edit) {
        (testDescription, self.edit) = (name, edit)
    }
}

private let reversing = [
    Way("edit") { settings in settings.edit { $0.span.lower = 20 } },
    Way("nested edit") { settings in settings.span.edit { $0.lower = 20 } },
    Way("update") { settings in try await settings.update { $0.span.lower = 20 } },
    Way("handle") { settings in try settings.stored(\.span.lower).set(20) },
    Way("text") { settings in try settings.anyValue(named: "span/lower").set(text: "20") },
    Way("property") { settings in settings.span.lower = 20 },
    Way("modification") { settings in try settings.stored(\.span.lower).modify { $0 += 20 } },
    Way("group in a group") { settings in try settings.stored(\.other.span.lower).set(20) },
    Way("edit of a group in a group") { settings in settings.other.edit { $0.span.lower = 20 } },
    Way("computed group") { settings in settings.computed.lower = 20 },
]

private let exceeding = [
    Way("property of a nested group") { settings in settings.span.upper = 200 },
    Way("handle of a nested group") { settings in try settings.span.stored(\.upper).set(200) },
    Way("edit of a nested group") { settings in settings.span.edit { $0.upper = 200 } },
    Way("update of a nested group") { settings in try await settings.span.update { $0.upper = 200 } },
    Way("list of a nested group") { settings in try settings.span.anyValue(named: "span/upper").set(text: "200") },
    Way("edit") { settings in settings.edit { $0.span.upper = 200 } },
]

@Suite("The rules of nested groups", .timeLimit(.minutes(10)))
struct NestedRuleTests {
    private let store: ObservableStore
    private let settings: Settings

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
        settings = Settings(store)
    }

    @Test("An edit through the outer group keeps to them", arguments: reversing)
    fileprivate func reversed(way: Way) async throws {
        #expect(try await error(of: way) == .invalidGroup(group: "SpanKeys", reason: "CancellationError()"))
        #expect(store.entries == [:])
    }

    @Test("An edit through the nested group keeps to the rule of the outer one", arguments: exceeding)
    fileprivate func exceeded(way: Way) async throws {
        #expect(try await error(of: way) == .invalidGroup(group: "OuterKeys", reason: "CancellationError()"))
        #expect(store.entries == [:])
    }

    /// The error that an edit throws, or else that it reports.
    private func error(of way: Way) async throws -> StorageError? {
        let failures = store.failures
        do {
            try await way.edit(settings)
        } catch {
            return error as? StorageError
        }
        try await store.close()
        for await failure in failures { return failure }
        return nil
    }

    @Test("Keys that no rule concerns are set beside a group that another process has made invalid")
    func unconcerned() async throws {
        let store = try ObservableStore(backend: InMemoryBackend(["other/span/lower": 20]))
        let settings = Settings(store)
        settings.limit = 90
        settings.span.upper = 9
        settings.edit { $0.span.lower = 1 }
        try await settings.update { $0.span.lower += 1 }
        settings.other.title = "t"
        try settings.anyValue(named: "span/upper").set(text: "8")
        #expect(
            store.entries == ["other/span/lower": 20, "limit": 90, "span/upper": 8, "span/lower": 2, "other/title": "t"])
        #expect(settings.other.span.lower == 0)
        try settings.stored(\.other.span.lower).set(5)
        #expect(settings.other.span.lower == 5)
    }

    @Test("What was set through the outer group is the nested group's last valid value")
    func lastValid() throws {
        settings.edit { $0.span.lower = 5 }
        try settings.stored(\.other.span.lower).set(6)
        store[StorageKey("span/upper", default: 0)] = 1
        store[StorageKey("other/span/upper", default: 0)] = 1
        #expect(settings.span.lower == 5 && settings.span.upper == 10)
        #expect(settings.other.span.lower == 6 && settings.other.span.upper == 10)
    }

    @Test("In a scene, they are those of the scene's values")
    func scene() throws {
        let scene = Settings(SceneStore(sceneID: "main", base: store))
        settings.span.upper = 50
        scene.edit { $0.span.lower = 20 }
        #expect(throws: StorageError.self) { try scene.stored(\.span.lower).set(51) }
        #expect(scene.span.lower == 20 && settings.span.lower == 0)
    }
}
