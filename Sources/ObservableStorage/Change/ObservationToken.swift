/// Keeps an observation active until it is cancelled or released.
public final class ObservationToken: Sendable {
    /// Identifies the subscriptions that a writer skips when it passes this token; 0 if there are none.
    let subscriptionID: UInt64
    // Nil after the cancellation: a token that is retained longer does not retain the observer.
    private let onCancel: Lock<(@Sendable () -> Void)?>

    /// Creates a token that calls a closure once, when it is cancelled or released.
    public convenience init(onCancel: @escaping @Sendable () -> Void) {
        self.init(id: 0, onCancel: onCancel)
    }

    init(id: UInt64, onCancel: @escaping @Sendable () -> Void) {
        subscriptionID = id
        self.onCancel = Lock(onCancel)
    }

    /// A token with which a writer mutes every listener: `store.edit(muting: .everyListener) { $0[.volume] = 0.5 }`.
    ///
    /// Streams, views, and mirrors in iCloud are not muted: they always follow the present values.
    public static let everyListener = ObservationToken(id: everyListenerID, onCancel: {})

    static var everyListenerID: UInt64 { .max }

    deinit {
        cancel()
    }

    /// Ends the observation. Nothing is delivered after this returns on the same thread; further calls have no effect.
    public func cancel() {
        onCancel.take { $0.take() }?()
    }

    /// Stores the token in a set, which keeps the observation active.
    public func store(in tokens: inout Set<ObservationToken>) {
        tokens.insert(self)
    }
}

extension ObservationToken: Hashable {
    /// Whether two tokens are identical.
    public static func == (left: ObservationToken, right: ObservationToken) -> Bool {
        left === right
    }

    /// Feeds the token's identity to a hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(ObjectIdentifier(self))
    }
}
