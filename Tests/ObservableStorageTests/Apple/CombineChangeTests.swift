#if canImport(Combine)
    import Combine
    import Dispatch
    import ObservableStorage
    import TestSupport
    import Testing

    private struct CounterKeys: KeyGroup {
        let count = StorageKey("count", default: 0)
    }

    private final class Probe: Sendable {}

    @Suite("Changes as a Combine publisher", .timeLimit(.minutes(10)))
    struct CombineChangeTests {
        private let store: ObservableStore

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
        }

        @Test("The handles of stores and of groups of keys publish the changes from now on")
        func everywhere() {
            let settings = KeyedStore<CounterKeys>(store)
            let seen = Recorder<String>()
            var cancellables: [AnyCancellable] = []
            store[Keys.count] = 1
            for publisher in [
                store.stored(Keys.count).changesPublisher, settings.stored(\.count).changesPublisher,
            ] {
                publisher.map { "\($0.oldValue) to \($0.newValue)" }.sink { seen.record($0) }.store(in: &cancellables)
            }
            store[Keys.count] = 2
            #expect(seen.elements == ["1 to 2", "1 to 2"])
        }

        @Test("Without demand all elements are kept, and delivered as they are demanded, in order")
        func backpressure() {
            let publisher = ChangePublisher<Int>()
            let subscriber = TestSubscriber<Int>(demanding: .none)
            publisher.subscribe(subscriber)
            for number in 1...1_000 { publisher.publish(number) }
            #expect(subscriber.values == [])
            subscriber.request(.max(2))
            #expect(subscriber.values == [1, 2])
            subscriber.request(.max(3))
            #expect(subscriber.values == [1, 2, 3, 4, 5])
            subscriber.request(.unlimited)
            publisher.publish(1_001)
            #expect(subscriber.values == Array(1...1_001))
        }

        @Test("An element published by a subscriber is delivered after the present one", arguments: [true, false])
        func reentrant(isBuffered: Bool) {
            let publisher = ChangePublisher<Int>()
            let subscriber = TestSubscriber<Int>(demanding: isBuffered ? .none : .unlimited) { value, _ in
                if value < 5 {
                    publisher.publish(value * 2)
                    publisher.publish(value * 2 + 1)
                }
                return .none
            }
            publisher.subscribe(subscriber)
            publisher.publish(1)
            if isBuffered { subscriber.request(.unlimited) }
            #expect(subscriber.values == Array(1...9))
            #expect(subscriber.nestedCalls.elements.isEmpty)
        }

        @Test("Nothing is delivered after cancelling, be it inside a delivery, with the subscription, or between deliveries")
        func cancelling() {
            let publisher = ChangePublisher<Int>()
            let inside = TestSubscriber<Int>(demanding: .unlimited) { value, subscriber in
                if value == 2 { subscriber.cancel() }
                return .unlimited
            }
            let atOnce = TestSubscriber<Int>(demanding: .unlimited, onSubscription: { $0.cancel() })
            let between = TestSubscriber<Int>(demanding: .max(1))
            for subscriber in [inside, atOnce, between] { publisher.subscribe(subscriber) }
            publisher.publish(1)
            publisher.publish(2)
            between.cancel()
            between.request(.unlimited)
            publisher.publish(3)
            publisher.finish()
            #expect(inside.values == [1, 2] && atOnce.values == [] && between.values == [1])
            #expect([inside, atOnce, between].allSatisfy { $0.completions == 0 })
        }

        @Test("Elements that wait when a delivery cancels are not delivered")
        func cancellingWithBuffer() {
            let publisher = ChangePublisher<Int>()
            let subscriber = TestSubscriber<Int>(demanding: .none) { _, subscriber in
                subscriber.cancel()
                return .unlimited
            }
            publisher.subscribe(subscriber)
            for number in 1...3 { publisher.publish(number) }
            subscriber.request(.unlimited)
            #expect(subscriber.values == [1])
        }

        @Test("Cancelling on another thread while elements are delivered ends them, and releases what the subscriber captured")
        func cancellingConcurrently() async throws {
            for _ in 0..<(isLong ? 500 : 50) {
                let publisher = ChangePublisher<Int>()
                var probe: Probe? = Probe()
                weak let observed = probe
                let started = Recorder<Int>()
                let subscription = publisher.sink { [probe] number in
                    _ = probe
                    started.record(number)
                }
                probe = nil
                let publishing = Task { for number in 0..<500 { publisher.publish(number) } }
                _ = try await started.elements(count: 3)
                subscription.cancel()
                await publishing.value
                #expect(started.elements == Array(0..<started.elements.count))
                #expect(observed == nil)
            }
        }

        @Test("A subscription that is released ends, and one that is retained keeps the publisher of changes")
        func lifetime() {
            let subscriber = TestSubscriber<Change<Int>>(demanding: .unlimited)
            store.stored(Keys.count).changesPublisher.subscribe(subscriber)
            store[Keys.count] = 1
            #expect(subscriber.values.map(\.newValue) == [1])
            subscriber.release()
            store[Keys.count] = 2
            #expect(subscriber.values.map(\.newValue) == [1])
            #expect(subscriber.completions == 0)
        }

        @Test("A subscriber is released when it cancels, and when it has finished", arguments: [true, false])
        func release(isCancelled: Bool) {
            let publisher = ChangePublisher<Int>()
            var subscriber: TestSubscriber<Int>? = TestSubscriber(demanding: .unlimited)
            weak let observed = subscriber
            publisher.subscribe(subscriber!)
            if isCancelled { subscriber?.cancel() } else { publisher.finish() }
            subscriber = nil
            #expect(observed == nil)
        }

        @Test("The end follows the elements that are demanded later, and comes at once if there are none")
        func finishing() {
            let publisher = ChangePublisher<Int>()
            let (idle, waiting) = (TestSubscriber<Int>(demanding: .none), TestSubscriber<Int>(demanding: .none))
            publisher.subscribe(waiting)
            publisher.publish(1)
            publisher.publish(2)
            publisher.subscribe(idle)
            publisher.finish()
            publisher.publish(3)
            #expect(idle.completions == 1 && idle.values == [])
            #expect(waiting.completions == 0)
            waiting.request(.max(1))
            #expect(waiting.completions == 0)
            waiting.request(.max(1))
            #expect(waiting.values == [1, 2] && waiting.completions == 1)
            let late = TestSubscriber<Int>(demanding: .none)
            publisher.subscribe(late)
            #expect(late.completions == 1)
        }

        @Test("Subscribers finish when the publisher, or the store of its changes, is released")
        func releasedSource() async throws {
            var publisher: ChangePublisher<Int>? = ChangePublisher()
            let own = TestSubscriber<Int>(demanding: .unlimited)
            publisher?.subscribe(own)
            publisher = nil
            #expect(publisher == nil && own.completions == 1)
            var store: ObservableStore? = try ObservableStore(backend: InMemoryBackend())
            let subscriber = TestSubscriber<Change<Int>>(demanding: .unlimited)
            store?.stored(Keys.count).changesPublisher.subscribe(subscriber)
            store = nil
            _ = try await subscriber.events.elements(count: 2)
            #expect(store == nil && subscriber.completions == 1)
        }

        @Test("Demand from many threads neither loses nor repeats an element, and calls are never nested")
        func concurrentDemand() async throws {
            let publisher = ChangePublisher<Int>()
            let subscriber = TestSubscriber<Int>(demanding: .none)
            publisher.subscribe(subscriber)
            await withTaskGroup(of: Void.self) { group in
                group.addTask { for number in 0..<400 { publisher.publish(number) } }
                for _ in 0..<4 { group.addTask { for _ in 0..<100 { subscriber.request(.max(1)) } } }
            }
            #expect(try await subscriber.values(count: 400) == Array(0..<400))
            #expect(subscriber.nestedCalls.elements.isEmpty)
        }

        @Test("A token can be stored with Combine's cancellables, and is cancelled with them")
        func tokens() {
            let seen = Recorder<Int>()
            var cancellables: Set<AnyCancellable> = []
            store.addUpdateListener(for: Keys.count) { seen.record($0.newValue) }.store(in: &cancellables)
            store[Keys.count] = 1
            cancellables = []
            store[Keys.count] = 2
            #expect(seen.elements == [1])
        }
    }
#endif
