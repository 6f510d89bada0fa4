import ObservableStorage
import TestSupport
import Testing

@Suite("Change publisher", .timeLimit(.minutes(10)))
struct ChangePublisherTests {
    @Test("Every subscriber gets every element, in the order of publishing")
    func fansOut() {
        let publisher = ChangePublisher<Int>()
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let tokens = [publisher.subscribe { first.record($0) }, publisher.subscribe { second.record($0) }]
        for element in 1...100 { publisher.publish(element) }
        #expect(first.elements == Array(1...100))
        #expect(second.elements == Array(1...100))
        withExtendedLifetime(tokens) {}
    }

    @Test("An element published by a subscriber is delivered after the element that is being delivered")
    func nestedPublishing() {
        let publisher = ChangePublisher<Int>()
        let seen = Recorder<String>()
        let tokens = [
            publisher.subscribe { element in
                seen.record("a\(element)")
                if element == 1 { publisher.publish(2) }
            },
            publisher.subscribe { seen.record("b\($0)") },
        ]
        publisher.publish(1)
        #expect(seen.elements == ["a1", "b1", "a2", "b2"])
        withExtendedLifetime(tokens) {}
    }

    @Test("Subscribing and cancelling inside a delivery neither deadlocks nor affects that delivery")
    func nestedSubscribing() {
        let publisher = ChangePublisher<Int>()
        let seen = Recorder<Int>()
        let inner = Lock<ObservationToken?>(nil)
        let token = publisher.subscribe { _ in
            let added = publisher.subscribe { seen.record($0) }
            let replaced = inner.withLock { held in
                defer { held = added }
                return held
            }
            replaced?.cancel()
        }
        publisher.publish(1)
        #expect(seen.elements == [])
        publisher.publish(2)
        #expect(seen.elements == [])
        token.cancel()
        publisher.publish(3)
        #expect(seen.elements == [3])
    }

    @Test("Nothing is delivered after cancel has returned, even what was published before")
    func cancelStopsDelivery() {
        let publisher = ChangePublisher<Int>()
        let seen = Recorder<Int>()
        let second = Lock<ObservationToken?>(nil)
        let first = publisher.subscribe { _ in second.withLock { $0 }?.cancel() }
        let token = publisher.subscribe { seen.record($0) }
        second.withLock { $0 = token }
        publisher.publish(1)
        #expect(seen.elements == [])
        withExtendedLifetime(first) {}
    }

    @Test("Releasing the token ends the subscription")
    func releaseStopsDelivery() {
        let publisher = ChangePublisher<Int>()
        let seen = Recorder<Int>()
        var token: ObservationToken? = publisher.subscribe { seen.record($0) }
        publisher.publish(1)
        token = nil
        publisher.publish(2)
        #expect(seen.elements == [1])
        #expect(token == nil)
    }

    @Test("Values captured by the closure are released when the subscription ends")
    func closureIsReleased() {
        final class Canary: Sendable {}
        let publisher = ChangePublisher<Int>()
        var canary: Canary? = Canary()
        weak let observed = canary
        let others = (0..<10).map { _ in publisher.subscribe { _ in } }
        let token = publisher.subscribe { [canary] _ in _ = canary }
        canary = nil
        #expect(observed != nil)
        token.cancel()
        #expect(observed == nil)
        withExtendedLifetime(others) {}
    }

    @Test("A stream finishes after it has delivered the elements published before the finish")
    func streamFinishes() async {
        let publisher = ChangePublisher<Int>()
        let stream = publisher.stream()
        publisher.publish(1)
        publisher.publish(2)
        publisher.finish()
        publisher.publish(3)
        var seen: [Int] = []
        for await element in stream { seen.append(element) }
        #expect(seen == [1, 2])
        for await element in publisher.stream() { Issue.record("a finished publisher delivered \(element)") }
    }

    @Test("Elements from many threads reach all subscribers in the same order")
    func oneOrder() async throws {
        let publisher = ChangePublisher<Int>()
        let (first, second) = (Recorder<Int>(), Recorder<Int>())
        let tokens = [publisher.subscribe { first.record($0) }, publisher.subscribe { second.record($0) }]
        await withTaskGroup(of: Void.self) { group in
            for writer in 0..<8 {
                group.addTask { for number in 0..<200 { publisher.publish(writer * 1_000 + number) } }
            }
        }
        let all = try await first.elements(count: 1_600)
        #expect(try await second.elements(count: 1_600) == all)
        for writer in 0..<8 {
            #expect(all.filter { $0 / 1_000 == writer }.map { $0 % 1_000 } == Array(0..<200))
        }
        withExtendedLifetime(tokens) {}
    }
}
