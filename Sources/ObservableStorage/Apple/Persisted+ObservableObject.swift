#if canImport(Combine)
    import Combine
    import Dispatch

    extension Persisted {
        /// Lets changes by others send the object's `objectWillChange` from now on, on the main thread, if it is an observable object.
        @usableFromInline func observe(for object: AnyObject) {
            _ = link(of: object)
        }

        /// Sends the object's `objectWillChange`, if it is an observable object, before its property is set.
        ///
        /// - Returns: the object's subscription, if it must not receive the change that follows.
        func willSet(in object: AnyObject) -> ObservationToken? {
            guard let link = link(of: object) else { return nil }
            link.willSet()
            // Elsewhere a view may read the old value before the property is set: it is notified again afterwards, on the main thread.
            return MainActorQueue.isCurrent ? link.token : nil
        }

        private func link(of object: AnyObject) -> PropertyOwner.Link? {
            owner.link(of: object) {
                guard let object = object as? any ObservableObject, let sender = ObjectChangeSender(object) else { return nil }
                let token = projectedValue.addMainActorListener { _ in
                    guard DeliveryThread.current.isReading else { return sender.send() }
                    // Possibly in a view's `body`.
                    DispatchQueue.main.async { sender.send() }
                }
                return PropertyOwner.Link(willSet: { sender.send() }, token: token, lifetime: sender.lifetime)
            }
        }
    }

    /// The publisher of an object, which lives as long as the object; neither the property nor the store retains it.
    private struct ObjectChangeSender: Sendable {
        // It can be sent from any thread, as all of Combine's publishers.
        private let publisher: WeakReference<ObservableObjectPublisher>
        let lifetime: WeakReference<AnyObject>

        /// Returns nil if the object has a publisher of another type.
        init?(_ object: some ObservableObject) {
            guard let publisher = object.objectWillChange as? ObservableObjectPublisher else { return nil }
            self.publisher = WeakReference(publisher)
            lifetime = WeakReference(publisher)
        }

        func send() {
            publisher.object?.send()
        }
    }
#endif
