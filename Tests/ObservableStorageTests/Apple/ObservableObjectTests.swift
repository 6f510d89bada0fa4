#if canImport(Combine)
    import Combine
    import Dispatch
    import Foundation
    import Observation
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import ObservableStorage

    private let volumeKey = StorageKey("volume", default: 0)

    /// A class with its own publisher.
    private class Player: ObservableObject {
        let objectWillChange = ObservableObjectPublisher()
        @Persisted var volume: Int
        @Persisted var title: String?

        init(_ store: ObservableStore) {
            _volume = Persisted(volumeKey, in: store)
            _title = Persisted("title", in: store)
        }
    }

    private final class LoudPlayer: Player {}

    /// A class with the publisher that Combine provides.
    private final class PublishedPlayer: ObservableObject {
        @Published var name = ""
        @Persisted var volume: Int

        init(_ store: ObservableStore) {
            _volume = Persisted(volumeKey, in: store)
        }
    }

    private final class OtherPublisherPlayer: ObservableObject {
        let objectWillChange = PassthroughSubject<Void, Never>()
        @Persisted var volume: Int

        init(_ store: ObservableStore) {
            _volume = Persisted(volumeKey, in: store)
        }
    }

    private final class Meter<Value: Sendable>: ObservableObject {
        let objectWillChange = ObservableObjectPublisher()
        @Persisted var value: Value

        init(_ key: StorageKey<Value>, in store: ObservableStore) {
            _value = Persisted(key, in: store)
        }
    }

    @Observable private final class Observed {
        @ObservationIgnored @Persisted var volume: Int

        init(_ store: ObservableStore) {
            _volume = Persisted(volumeKey, in: store)
        }
    }

    @Suite("Stored properties of Combine's observable objects", .timeLimit(.minutes(10)))
    @MainActor
    struct ObservableObjectTests {
        private let store: ObservableStore
        // What the property was when objectWillChange was sent.
        private let sent = Recorder<Int>()

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
        }

        private func record(_ player: Player) -> AnyCancellable {
            player.objectWillChange.sink { [sent, store] in sent.record(store[volumeKey]) }
        }

        /// Returns after everything that the main queue was given before.
        private func mainQueue() async {
            await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
        }

        @Test("objectWillChange is sent before the object sets or modifies its property, once for each time")
        func beforeSet() {
            let player = Player(store)
            let cancellable = record(player)
            player.volume = 1
            #expect(sent.elements == [0])
            player.volume += 1
            #expect(sent.elements == [0, 1])
            player.title = "a title"
            #expect(sent.elements == [0, 1, 2])
            #expect(player.volume == 2 && store[volumeKey] == 2 && player.title == "a title")
            cancellable.cancel()
        }

        @Test("It is also sent by the publisher that Combine provides, and in a subclass")
        func otherClasses() {
            let published = PublishedPlayer(store)
            let first = published.objectWillChange.sink { [sent, store] in sent.record(store[volumeKey]) }
            published.volume = 1
            #expect(sent.elements == [0])
            store[volumeKey] = 2
            #expect(sent.elements == [0, 2])
            let loud = LoudPlayer(store)
            let second = record(loud)
            loud.volume = 3
            #expect(sent.elements == [0, 2, 2, 3])
            withExtendedLifetime((first, second)) {}
        }

        @Test("It is sent on the setting thread, and after a set off the main thread also there, where a view may have read the old value")
        func thread() async throws {
            let onMain = Recorder<Int>()
            try await Task.detached { [store, sent] in
                let player = Player(store)
                let cancellable = player.objectWillChange.sink { (MainActor.isCurrent ? onMain : sent).record(store[volumeKey]) }
                player.volume = 1
                _ = try await onMain.elements(count: 1)
                player.volume += 1
                _ = try await onMain.elements(count: 2)
                withExtendedLifetime((player, cancellable)) {}
            }.value
            #expect(sent.elements == [0, 1] && onMain.elements == [1, 2])
        }

        @Test("A change by others on the main thread sends it before their setter returns, once the object has read the property")
        func othersOnMain() {
            let player = Player(store)
            let cancellable = record(player)
            #expect(player.volume == 0)
            store[volumeKey] = 1
            player.$volume.value = 2
            store[Keys.count] = 1
            #expect(sent.elements == [1, 2])
            cancellable.cancel()
        }

        @Test("Changes by other threads send it on the main thread, once each, and those of the object are not sent again")
        func othersElsewhere() async throws {
            let player = Player(store)
            let cancellable = player.objectWillChange.sink { [sent, store] in
                MainActor.preconditionIsolated()
                sent.record(store[volumeKey])
            }
            #expect(player.volume == 0)
            let group = DispatchGroup()
            DispatchQueue.global().async(group: group) { [store] in for number in 1...3 { store[volumeKey] = number } }
            group.wait()
            #expect(sent.elements == [])
            player.volume = 4
            #expect(sent.elements == [3])
            _ = try await sent.elements(count: 4)
            await mainQueue()
            #expect(sent.elements.count == 4)
            cancellable.cancel()
        }

        @Test("A change by another process sends it on the main thread")
        func otherProcess() async throws {
            let folder = try TemporaryFolder()
            let (store, other) = (
                try ObservableStore(at: folder.file("settings.plist")), try ObservableStore(at: folder.file("settings.plist"))
            )
            let player = Player(store)
            let cancellable = player.objectWillChange.sink { [sent] in
                MainActor.preconditionIsolated()
                sent.record(store[volumeKey])
            }
            #expect(player.volume == 0)
            other[volumeKey] = 5
            try await other.flush()
            #expect(try await sent.elements(count: 1) == [5])
            cancellable.cancel()
            try await other.close()
            try await store.close()
        }

        @Test("Two objects with one key are told of each other's changes")
        func twoObjects() {
            let (first, second) = (Player(store), Player(store))
            let (one, two) = (Recorder<Int>(), Recorder<Int>())
            let cancellables = [
                first.objectWillChange.sink { [store] in one.record(store[volumeKey]) },
                second.objectWillChange.sink { [store] in two.record(store[volumeKey]) },
            ]
            #expect(first.volume == second.volume)
            first.volume = 1
            #expect(one.elements == [0] && two.elements == [1])
            second.volume = 2
            #expect(one.elements == [0, 2] && two.elements == [1, 1])
            withExtendedLifetime(cancellables) {}
        }

        // Reading it stores 1.
        private static let key = StorageKey("level", persistsDefault: .whenMissing, default: 1)

        @Test("A read that changes what is stored sends it soon after the read, and changes after that send it as ever")
        func changeByReading() async throws {
            let (other, meter) = (Meter(StorageKey<PropertyListValue?>("level"), in: store), Meter(Self.key, in: store))
            let cancellables = [
                other.objectWillChange.sink { [sent] in sent.record(1) }, meter.objectWillChange.sink { [sent] in sent.record(2) },
            ]
            #expect(other.value == nil)
            #expect(meter.value == 1 && sent.elements == [])
            _ = try await sent.elements(count: 1)
            await mainQueue()
            // The object that has read the value has the new one already.
            #expect(sent.elements == [1] && other.value == 1)
            store[StorageKey("level", default: 0)] = 5
            #expect(sent.elements.sorted() == [1, 1, 2] && meter.value == 5)
            withExtendedLifetime(cancellables) {}
        }

        @Test("A default that is stored by reading it again, through an object or the store, does not send it during the read")
        func defaultStoredAgain() async throws {
            let key = Self.key
            let meter = Meter(key, in: store)
            let cancellable = meter.objectWillChange.sink { [sent] in sent.record(1) }
            #expect(meter.value == 1)
            for isReadThroughObject in [true, false] {
                let count = sent.elements.count
                store.remove(key)
                #expect(sent.elements.count == count + 1)
                #expect((isReadThroughObject ? meter.value : store[key]) == 1 && store.isSet(key))
                #expect(sent.elements.count == count + 1)
                _ = try await sent.elements(count: count + 2)
                await mainQueue()
                #expect(sent.elements.count == count + 2)
            }
            cancellable.cancel()
        }

        @Test("Neither the object nor the store is retained, and a released object is told nothing")
        func lifetime() async throws {
            var store: ObservableStore? = try ObservableStore(backend: InMemoryBackend())
            weak let observedStore = store
            var player: Player? = Player(store!)
            weak let observed = player
            let publisher = player!.objectWillChange
            let cancellable = publisher.sink { [sent] in sent.record(1) }
            player?.volume = 1
            #expect(sent.elements == [1])
            player = nil
            #expect(observed == nil)
            store?[volumeKey] = 2
            #expect(sent.elements == [1])
            // Ends when the store is released, which its last write delays.
            let changes = store!.changes(of: volumeKey)
            store = nil
            for await _ in changes {}
            #expect(observedStore == nil)
            withExtendedLifetime(cancellable) {}
        }

        @Test("An invalid stored value is not replaced by a modification, only by setting the property")
        func invalid() {
            let player = Player(store)
            store[StorageKey<String?>("volume")] = "loud"
            player.volume += 1
            #expect(store[StorageKey<String?>("volume")] == "loud")
            player.volume = 2
            #expect(store[volumeKey] == 2)
        }

        @Test("Without a publisher of this kind the property is stored all the same")
        func otherPublisher() {
            let player = OtherPublisherPlayer(store)
            player.volume = 1
            player.volume += 1
            #expect(player.volume == 2 && store[volumeKey] == 2)
        }
    }

    /// The forms in which a property can be declared: all of them compile and store their values.
    @Suite("Stored properties of all kinds of types, with Combine", .timeLimit(.minutes(10)))
    struct PersistedFormTests {
        private final class Plain {
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
        }

        private final class Shared: @unchecked Sendable {
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
        }

        private final class Constant: Sendable {
            let volume: Persisted<Int>
            init(_ store: ObservableStore) { volume = Persisted(volumeKey, in: store) }
        }

        private actor Worker {
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
            func turnUp() { volume += 1 }
        }

        @MainActor private final class Main {
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
        }

        @MainActor private final class MainObject: ObservableObject {
            let objectWillChange = ObservableObjectPublisher()
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
        }

        private class Generic<Element> {
            @Persisted var volume: Int
            let element: Element
            init(_ element: Element, _ store: ObservableStore) {
                self.element = element
                _volume = Persisted(volumeKey, in: store)
            }
        }

        private struct Value {
            @Persisted var volume: Int
            init(_ store: ObservableStore) { _volume = Persisted(volumeKey, in: store) }
        }

        @Test("Classes, actors, structures and variables have such properties; the projected value is the handle")
        @MainActor
        func forms() async throws {
            let store = try ObservableStore(backend: InMemoryBackend())
            let worker = Worker(store)
            await worker.turnUp()
            #expect(await worker.volume == 1)
            let (plain, shared, constant, main) = (Plain(store), Shared(store), Constant(store), Main(store))
            let (object, observed, generic, value) = (MainObject(store), Observed(store), Generic("", store), Value(store))
            plain.volume += 1
            shared.volume += 1
            constant.volume.wrappedValue += 1
            main.volume += 1
            object.volume += 1
            observed.volume += 1
            generic.volume += 1
            value.volume += 1
            @Persisted(volumeKey, in: store) var local
            local += 1
            #expect(store[volumeKey] == 10)
            #expect([plain.$volume, main.$volume, observed.$volume, value.$volume].allSatisfy { $0.value == 10 && $0.store === store })
        }

        @Test("A class with @Observable is told of changes by Observation")
        func observation() throws {
            let store = try ObservableStore(backend: InMemoryBackend())
            let observed = Observed(store)
            let woken = Recorder<Bool>()
            withObservationTracking {
                _ = observed.volume
            } onChange: {
                woken.record(true)
            }
            store[volumeKey] = 1
            #expect(woken.elements == [true] && observed.volume == 1)
        }
    }
#endif
