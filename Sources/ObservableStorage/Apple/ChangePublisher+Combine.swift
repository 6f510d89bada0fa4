#if canImport(Combine)
    public import Combine

    extension ChangePublisher: Publisher {
        /// The elements.
        public typealias Output = Element
        /// There are no failures.
        public typealias Failure = Never

        /// Subscribes a subscriber to the elements published from now on.
        ///
        /// Elements that it does not demand are kept, all of them. It finishes after the last element when the publisher finishes.
        public func receive<S: Combine.Subscriber>(subscriber: S) where S.Input == Element, S.Failure == Never {
            DemandSubscription.start(subscriber, keepsAll: true, { $0 }) { observer in
                var deliveries = Deliveries()
                let token = add(observer, to: &deliveries)
                deliveries.deliver()
                return token
            }
        }
    }

    extension ObservationToken: Cancellable {}
#endif
