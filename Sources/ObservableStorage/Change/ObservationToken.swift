/// Keeps an observation going until it is cancelled or released.
public final class ObservationToken: Sendable {
    /// The subscription that a writer skips when it passes this token as its own; 0 is none.
    let subscription: UInt64
    // Until it is cancelled: a token that is kept longer keeps nothing of the subscription.
    private let running: Guarded<(life: SubscriptionLife, onCancel: @Sendable () -> Void)?>

    /// Makes a token that calls a closure when it is cancelled or released, whichever comes first, once.
    public convenience init(onCancel: @escaping @Sendable () -> Void) {
        self.init(subscription: 0, life: SubscriptionLife(), onCancel: onCancel)
    }

    init(subscription: UInt64, life: SubscriptionLife, onCancel: @escaping @Sendable () -> Void) {
        self.subscription = subscription
        running = Guarded((life, onCancel))
    }

    deinit {
        cancel()
    }

    /// Ends the observation. Nothing is delivered after this returns on the same thread; further calls do nothing.
    public func cancel() {
        let ended = running.take { $0.take() }
        ended?.life.end()
        ended?.onCancel()
    }

    /// Keeps the token in a set, for as long as the set keeps it.
    public func store(in tokens: inout Set<ObservationToken>) {
        tokens.insert(self)
    }

    /// Keeps the token for as long as an object is there, which it does not keep.
    ///
    /// Once the object has gone nothing is delivered; the listener itself is released at the next change, or when the store ends. A token
    /// made with ``init(onCancel:)`` is cancelled within about a second, on another thread: Swift does not tell when an object has gone, so
    /// a timer looks. Tying the token to another object replaces the first one.
    ///
    /// - Returns: the token, for those who want to end the observation earlier.
    @discardableResult
    public func tie(to object: AnyObject) -> ObservationToken {
        guard let life = running.withLock({ $0?.life }) else { return self }
        life.tie(self, to: object)
        if subscription == 0 { OwnerPolling.shared.add(life) }
        return self
    }
}

extension ObservationToken: Hashable {
    /// Whether two tokens are the same one.
    public static func == (left: ObservationToken, right: ObservationToken) -> Bool {
        left === right
    }

    /// Feeds the token's identity to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
