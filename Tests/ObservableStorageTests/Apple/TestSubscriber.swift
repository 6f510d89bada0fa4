#if canImport(Combine)
    import Combine
    import Dispatch
    import ObservableStorage
    import TestSupport

    /// A subscriber that demands what a test tells it to, and records everything that it receives.
    final class TestSubscriber<Input: Sendable>: Subscriber, @unchecked Sendable {
        // Sendable because the subscription is locked, and the rest is constant; Combine calls it from one thread at a time.
        typealias Failure = Never

        /// What it receives.
        enum Event: Sendable {
            case subscription
            case value(Input)
            case completion
        }

        /// What it received so far.
        let events = Recorder<Event>()
        /// How many calls were made inside another call.
        let nestedCalls = Recorder<Void>()
        private let depth = Lock(0)
        private let subscription = Lock<Held>(Held())
        private let initial: Subscribers.Demand
        private let onSubscription: @Sendable (TestSubscriber) -> Void
        private let onReceive: @Sendable (Input, TestSubscriber) -> Subscribers.Demand

        private struct Held: @unchecked Sendable {
            // Sendable because Combine's subscriptions are.
            var subscription: (any Subscription)?
        }

        /// Creates a subscriber.
        ///
        /// - Parameters:
        ///   - initial: what it demands when it is subscribed.
        ///   - onReceive: called with each value; returns what it demands in addition.
        ///   - onSubscription: called after that demand, inside the call with the subscription.
        init(
            demanding initial: Subscribers.Demand,
            _ onReceive: @escaping @Sendable (Input, TestSubscriber) -> Subscribers.Demand = { _, _ in .none },
            onSubscription: @escaping @Sendable (TestSubscriber) -> Void = { _ in }
        ) {
            self.initial = initial
            self.onSubscription = onSubscription
            self.onReceive = onReceive
        }

        /// The values received so far.
        var values: [Input] {
            Self.values(events.elements)
        }

        /// The values, once there are at least the given number.
        func values(count: Int) async throws -> [Input] {
            Self.values(try await events.elements { Self.values($0).count >= count })
        }

        /// The number of completions received so far.
        var completions: Int {
            events.elements.filter { if case .completion = $0 { true } else { false } }.count
        }

        /// Demands more.
        func request(_ demand: Subscribers.Demand) {
            let held = subscription.withLock { $0 }
            held.subscription?.request(demand)
        }

        /// Cancels the subscription, which stays retained.
        func cancel() {
            let held = subscription.withLock { $0 }
            held.subscription?.cancel()
        }

        /// Releases the subscription without cancelling it.
        func release() {
            subscription.take { held in
                defer { held = Held() }
                return held
            }
        }

        func receive(subscription: any Subscription) {
            let held = Held(subscription: subscription)
            calling {
                self.subscription.withLock { $0 = held }
                events.record(.subscription)
                if initial > .none { subscription.request(initial) }
                onSubscription(self)
            }
        }

        func receive(_ input: Input) -> Subscribers.Demand {
            calling {
                events.record(.value(input))
                return onReceive(input, self)
            }
        }

        func receive(completion: Subscribers.Completion<Never>) {
            calling { events.record(.completion) }
        }

        private func calling<Result>(_ body: () -> Result) -> Result {
            if depth.withLock({ depth in
                depth += 1
                return depth > 1
            }) {
                nestedCalls.record(())
            }
            defer { depth.withLock { $0 -= 1 } }
            return body()
        }

        private static func values(_ events: [Event]) -> [Input] {
            events.compactMap { if case .value(let value) = $0 { value } else { nil } }
        }
    }
#endif
