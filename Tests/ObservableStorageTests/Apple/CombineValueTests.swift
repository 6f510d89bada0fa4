#if canImport(Combine)
    import Combine
    import Dispatch
    import ObservableStorage
    import TestSupport
    import Testing

    private struct CounterKeys: KeyGroup {
        let count = StorageKey("count", default: 0)
    }

    @Suite("Values as a Combine publisher", .timeLimit(.minutes(10)))
    struct CombineValueTests {
        private let store: ObservableStore
        private let values = Recorder<Int>()

        init() throws {
            store = try ObservableStore(backend: InMemoryBackend())
        }

        @Test("A subscriber receives the current value first, and then each newer one, before its setter returns")
        func currentFirst() {
            store[Keys.count] = 1
            let cancellable = store.stored(Keys.count).publisher.sink { [values] in values.record($0) }
            #expect(values.elements == [1])
            store[Keys.count] = 2
            store[Keys.count] += 1
            store.remove(Keys.count)
            #expect(values.elements == [1, 2, 3, 0])
            cancellable.cancel()
            store[Keys.count] = 4
            #expect(values.elements == [1, 2, 3, 0])
        }

        @Test("The handles of stores and of groups of keys have the publisher, and it works with operators")
        func everywhere() {
            let settings = KeyedStore<CounterKeys>(store)
            let publishers = [store.stored(Keys.count).publisher, settings.stored(\.count).publisher]
            var cancellables: Set<AnyCancellable> = []
            for publisher in publishers {
                publisher.map { $0 * 10 }.sink { [values] in values.record($0) }.store(in: &cancellables)
            }
            settings.count = 1
            #expect(values.elements == [0, 0, 10, 10])
        }

        @Test("Without demand the newest value is kept, and delivered with the first demand")
        func conflating() {
            let subscriber = TestSubscriber<Int>(demanding: .none)
            store.stored(Keys.count).publisher.subscribe(subscriber)
            for number in 1...5 { store[Keys.count] = number }
            #expect(subscriber.values == [])
            subscriber.request(.max(1))
            #expect(subscriber.values == [5])
            for number in 6...9 { store[Keys.count] = number }
            #expect(subscriber.values == [5])
            subscriber.request(.max(2))
            store[Keys.count] = 10
            store[Keys.count] = 11
            #expect(subscriber.values == [5, 9, 10])
            subscriber.cancel()
        }

        @Test("Demand that is returned and demand that is made inside a delivery both count")
        func demandInside() {
            let returning = TestSubscriber<Int>(demanding: .max(1)) { value, _ in value < 2 ? .max(1) : .none }
            let requesting = TestSubscriber<Int>(demanding: .max(1)) { value, subscriber in
                if value < 2 { subscriber.request(.max(1)) }
                return .none
            }
            for subscriber in [returning, requesting] {
                store.remove(Keys.count)
                store.stored(Keys.count).publisher.subscribe(subscriber)
                for number in 1...5 { store[Keys.count] = number }
                #expect(subscriber.values == [0, 1, 2])
                #expect(subscriber.nestedCalls.elements.isEmpty)
                subscriber.cancel()
            }
        }

        @Test("A value that a subscriber sets is delivered after the present one, never inside it", arguments: [true, false])
        func reentrant(startsWithInitial: Bool) {
            let subscriber = TestSubscriber<Int>(demanding: .unlimited) { [store] value, subscriber in
                if value < 4, startsWithInitial || value > 0 {
                    for number in 1...2 { store[Keys.count] = value + number }
                }
                return .none
            }
            store.stored(Keys.count).publisher.subscribe(subscriber)
            if !startsWithInitial { store[Keys.count] = 2 }
            // Setting the same number again is not a change.
            #expect(subscriber.values == (startsWithInitial ? [0, 1, 2, 3, 4, 5] : [0, 2, 3, 4, 5]))
            #expect(subscriber.nestedCalls.elements.isEmpty)
            subscriber.cancel()
        }

        @Test("Values demanded with the subscription arrive after the subscriber has it")
        func demandWithSubscription() {
            let subscriber = TestSubscriber<Int>(
                demanding: .unlimited, onSubscription: { [store] _ in for number in 1...2 { store[Keys.count] = number } })
            store.stored(Keys.count).publisher.subscribe(subscriber)
            #expect(subscriber.nestedCalls.elements.isEmpty)
            #expect(subscriber.values == [0, 1, 2])
            subscriber.cancel()
        }

        @Test("Subscribers of one publisher are independent")
        func independent() {
            let publisher = store.stored(Keys.count).publisher
            let (all, one) = (TestSubscriber<Int>(demanding: .unlimited), TestSubscriber<Int>(demanding: .max(1)))
            publisher.subscribe(all)
            store[Keys.count] = 1
            publisher.subscribe(one)
            store[Keys.count] = 2
            one.cancel()
            store[Keys.count] = 3
            #expect(all.values == [0, 1, 2, 3] && one.values == [1])
            all.cancel()
        }

        @Test("A value that cannot be decoded is skipped, but the first value is the one that reading returns")
        func undecodable() {
            store[StorageKey<String?>("count")] = "text"
            let subscriber = TestSubscriber<Int>(demanding: .unlimited)
            store.stored(Keys.count).publisher.subscribe(subscriber)
            #expect(subscriber.values == [0])
            store[Keys.count] = 1
            store[StorageKey<String?>("count")] = "again"
            store[Keys.count] = 2
            #expect(subscriber.values == [0, 1, 2])
            subscriber.cancel()
        }

        @Test("Subscribers finish when the store is closed, after the value that they demand later")
        func closing() async throws {
            let (idle, waiting) = (TestSubscriber<Int>(demanding: .unlimited), TestSubscriber<Int>(demanding: .none))
            store.stored(Keys.count).publisher.subscribe(idle)
            store.stored(Keys.count).publisher.subscribe(waiting)
            store[Keys.count] = 1
            try await store.close()
            _ = try await idle.events.elements(count: 4)
            #expect(idle.values == [0, 1] && idle.completions == 1)
            #expect(waiting.completions == 0)
            waiting.request(.max(1))
            // The end of the other one may have come first.
            _ = try await waiting.events.elements(count: 3)
            #expect(waiting.values == [1] && waiting.completions == 1)
            let late = TestSubscriber<Int>(demanding: .unlimited)
            store.stored(Keys.count).publisher.subscribe(late)
            #expect(late.values == [1] && late.completions == 1)
        }

        @Test("Subscribers finish when the store is released, which subscriptions do not retain")
        func releasing() async throws {
            var store: ObservableStore? = try ObservableStore(backend: InMemoryBackend())
            weak let observed = store
            let subscriber = TestSubscriber<Int>(demanding: .unlimited)
            store?.stored(Keys.count).publisher.subscribe(subscriber)
            store = nil
            _ = try await subscriber.events.elements { $0.count == 3 }
            #expect(observed == nil && subscriber.completions == 1)
        }

        @Test("A publisher delivers what other threads set, in order, once each")
        func otherThreads() async throws {
            let subscriber = TestSubscriber<Int>(demanding: .unlimited)
            store.stored(Keys.count).publisher.subscribe(subscriber)
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<100 { _ = try? store.stored(Keys.count).modify { $0 += 1 } } }
                }
            }
            #expect(try await subscriber.values(count: 401) == Array(0...400))
            #expect(subscriber.nestedCalls.elements.isEmpty)
            subscriber.cancel()
        }
    }
#endif
