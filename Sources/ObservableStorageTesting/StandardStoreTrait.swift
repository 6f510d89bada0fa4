public import ObservableStorage
public import Testing

/// Gives each test a standard store of its own.
///
/// For the test and the tasks that it starts, except detached ones, `ObservableStore.standard` is that store. On a suite,
/// the trait applies to each test in it, and each argument of a test, so that they can run in parallel. The store is closed after the test.
///
/// ```swift
/// @Test(.standardStore(["title": "So What"]))
/// func label() {
///     #expect(PlayerModel().label == "So What at 80")
/// }
/// ```
public struct StandardStoreTrait: TestTrait, SuiteTrait, TestScoping {
    private let open: @Sendable () async throws -> ObservableStore

    /// Applies to the tests of a suite and of those inside it.
    public var isRecursive: Bool { true }

    fileprivate init(open: @escaping @Sendable () async throws -> ObservableStore) {
        self.open = open
    }

    /// Opens a store, runs the test with it, and closes it.
    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let store = try await open()
        do {
            try await ObservableStore.withStandard(store) { try await function() }
        } catch {
            try await store.close(discardingEdits: true)
            throw error
        }
        try await store.close()
    }
}

extension Trait where Self == StandardStoreTrait {
    /// Gives each test an empty standard store of its own, in memory.
    public static var standardStore: Self { standardStore([:]) }

    /// Gives each test a standard store of its own, in memory, with some entries.
    public static func standardStore(_ entries: [String: PropertyListValue]) -> Self {
        standardStore { try ObservableStore(backend: InMemoryBackend(entries)) }
    }

    /// Gives each test a standard store of its own, which a closure opens, such as one of a file.
    public static func standardStore(_ open: @escaping @Sendable () async throws -> ObservableStore) -> Self {
        StandardStoreTrait(open: open)
    }
}
