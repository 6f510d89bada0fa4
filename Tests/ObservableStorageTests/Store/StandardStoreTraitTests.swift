import ObservableStorage
import ObservableStorageTesting
import TestSupport
import Testing

private let number = StorageKey("number", default: 0)

@Suite("A standard store for each test", .standardStore(["number": 20]), .timeLimit(.minutes(10)))
struct StandardStoreTraitTests {
    @Persisted("number") private var property = 0

    @Test("Arguments run in parallel, each with a store of its own, and so do the properties of the suite", arguments: 0..<20)
    func arguments(argument: Int) async throws {
        #expect(ObservableStore.standard.entries == ["number": 20])
        #expect(property == 20)
        property = argument
        await Task.yield()
        try await ObservableStore.standard.flush()
        #expect(ObservableStore.standard.entries == ["number": .integer(PropertyListInteger(Int64(argument)))])
        #expect(await Task { ObservableStore.standard[number] }.value == argument)
    }

    @Test("A test on the main actor has one, too")
    @MainActor
    func mainActor() {
        #expect(property == 20)
    }

    @Test("The trait of a test takes precedence over that of its suite", .standardStore)
    func inner() {
        #expect(ObservableStore.standard.entries.isEmpty)
    }

    @Suite("A suite inside has those of the outer one")
    struct Inner {
        @Test("Its tests, too", arguments: 0..<2)
        func inherited(argument: Int) {
            #expect(ObservableStore.standard.entries == ["number": 20])
            ObservableStore.standard[number] = argument
        }
    }

    @Test("A closure may open the store", .standardStore { try ObservableStore(backend: InMemoryBackend(["number": 7])) })
    func closure() {
        #expect(property == 7)
    }

    @Test("The store is closed after the test, and the test's error is thrown", arguments: [false, true])
    func end(isFailure: Bool) async throws {
        struct Failure: Error {}
        let test = try #require(Test.current)
        let used = Lock<ObservableStore?>(nil)
        let trait: StandardStoreTrait = .standardStore
        do {
            try await trait.provideScope(for: test, testCase: nil) {
                used.withLock { $0 = ObservableStore.standard }
                if isFailure { throw Failure() }
            }
            #expect(!isFailure)
        } catch is Failure {
            #expect(isFailure)
        }
        let store = try #require(used.withLock { $0 })
        #expect(store !== ObservableStore.standard)
        #expect(throws: StorageError.closed) { try store.set(1, for: number) }
    }
}
