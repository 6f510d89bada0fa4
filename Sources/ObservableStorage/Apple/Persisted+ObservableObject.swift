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
            return MainActor.isCurrent ? link.token : nil
        }

        private func link(of object: AnyObject) -> PropertyOwner.Link? {
            owner.link(of: object) {
                guard let object = object as? any ObservableObject, let found = Self.publisher(of: object) else { return nil }
                // It lives as long as the object; neither the property nor the store retains it. It may be sent on any thread.
                let publisher = WeakReference(found)
                let send = { @Sendable () -> Void in publisher.object?.send() }
                let token = projectedValue.addMainActorListener { _ in
                    guard DeliveryThread.current.isReading else { return send() }
                    // Possibly in a view's `body`.
                    DispatchQueue.main.async(execute: send)
                }
                return (send, token, WeakReference<AnyObject>(found))
            }
        }

        /// The publisher of an object; nil if it is of another type.
        private static func publisher(of object: some ObservableObject) -> ObservableObjectPublisher? {
            object.objectWillChange as? ObservableObjectPublisher
        }
    }
#endif
