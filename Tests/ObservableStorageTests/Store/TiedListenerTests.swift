import Dispatch
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

private final class Owner {}

/// Reports its release: values captured by a listener are released with it.
private final class Probe: Sendable {
    let released: Recorder<Void>

    init(_ released: Recorder<Void>) {
        self.released = released
    }

    deinit { released.record(()) }
}

@Suite("Listeners tied to an object", .timeLimit(.minutes(10)))
struct TiedListenerTests {
    private let store: ObservableStore
    private let seen = Recorder<Int>()

    init() throws {
        store = try ObservableStore(backend: InMemoryBackend())
    }

    @Test("A listener receives changes while the object exists, without a retained token", arguments: [false, true])
    func lifetime(hasQueue: Bool) {
        let queue = hasQueue ? DispatchQueue(label: "listeners") : nil
        var owner: Owner? = Owner()
        store.addUpdateListener(for: Keys.count, on: queue) { [seen] in seen.record($0.newValue) }.tie(to: owner!)
        store[Keys.count] = 1
        queue?.sync {}
        owner = nil
        store[Keys.count] = 2
        queue?.sync {}
        #expect(seen.elements == [1])
    }

    @Test("The object is not retained, and the listener is removed with the first change after its release")
    func release() async throws {
        let released = Recorder<Void>()
        weak var gone: Owner?
        do {
            let owner = Owner()
            gone = owner
            let probe = Probe(released)
            store.addUpdateListener(for: Keys.count) { _ in withExtendedLifetime(probe) {} }.tie(to: owner)
        }
        #expect(gone == nil)
        #expect(released.elements.isEmpty)
        store[Keys.count] = 1
        #expect(released.elements.count == 1)
    }

    @Test("Listeners of released objects do not accumulate, even without any change")
    func crowd() {
        let released = Recorder<Void>()
        for _ in 0..<1_000 {
            let owner = Owner()
            let probe = Probe(released)
            store.addUpdateListener(for: Keys.count) { _ in withExtendedLifetime(probe) {} }.tie(to: owner)
        }
        #expect(released.elements.count > 800)
    }

    @Test("A tied token can be cancelled, and tied to another object")
    func cancelling() {
        let owner = Owner()
        let token = store.addUpdateListener(for: Keys.count) { [seen] in seen.record($0.newValue) }.tie(to: Owner())
        token.tie(to: owner)
        store[Keys.count] = 1
        token.cancel()
        store[Keys.count] = 2
        #expect(seen.elements == [1])
        token.tie(to: owner)
        store[Keys.count] = 3
        #expect(seen.elements == [1])
    }

    @Test("A cancelled token is not retained by an object that it is tied to afterwards")
    func tiedAfterCancelling() {
        let owner = Owner()
        weak var gone: ObservationToken?
        do {
            let token = store.addUpdateListener(for: Keys.count) { _ in }
            gone = token
            token.cancel()
            token.tie(to: owner)
        }
        #expect(gone == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("A token of a closed store is not retained by an object that it is tied to afterwards")
    func tiedAfterClosing() async throws {
        let owner = Owner()
        weak var gone: ObservationToken?
        let released = Recorder<Void>()
        do {
            let probe = Probe(released)
            let token = store.addUpdateListener(for: Keys.count) { _ in withExtendedLifetime(probe) {} }
            gone = token
            try await store.close()
            token.tie(to: owner)
        }
        _ = try await released.elements(count: 1)
        #expect(gone == nil)
        withExtendedLifetime(owner) {}
    }

    @Test("When the store is released, so are the listeners tied to objects that still exist", arguments: [false, true])
    func end(hasQueue: Bool) async throws {
        let released = Recorder<Void>()
        let owner = Owner()
        let queue = hasQueue ? DispatchQueue(label: "listeners") : nil
        do {
            let probe = Probe(released)
            store.addUpdateListener(for: Keys.count, on: queue) { [seen] in
                seen.record($0.newValue)
                withExtendedLifetime(probe) {}
            }.tie(to: owner)
        }
        store[Keys.count] = 1
        try await store.close()
        #expect(try await seen.elements(count: 1) == [1])
        _ = try await released.elements(count: 1)
        withExtendedLifetime(owner) {}
    }
}
