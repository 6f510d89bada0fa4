import Synchronization

/// How long a subscription lasts: until it is ended, or until the object has gone that it was tied to.
class SubscriptionLife: @unchecked Sendable {
    // Sendable because what changes here is atomic or behind a lock; only a class that is not final may have subclasses.
    private struct Tie: Sendable {
        let owner: Presence
        /// Kept as long as the owner is there; it keeps this life in turn, which ending lets go of.
        let token: ObservationToken
    }

    private enum Phase: UInt8, AtomicRepresentable {
        case open, tied, ended
    }

    private let phase = Atomic(Phase.open)
    private let tie = Guarded<Tie?>(nil)

    /// Whether nothing is to be delivered any more. Finding the owner gone ends the subscription.
    final var isEnded: Bool {
        switch phase.load(ordering: .acquiring) {
        case .open: return false
        case .ended: return true
        case .tied:
            let owner = tie.withLock { $0?.owner }
            guard owner?.isThere == false else { return false }
            end()
            return true
        }
    }

    /// Ends it, once. Not to be called under a lock: what is let go of may run code of the user's.
    final func end() {
        phase.store(.ended, ordering: .sequentiallyConsistent)
        _ = tie.withLock { $0.take() }
    }

    /// Keeps a token until an object goes.
    final func tie(_ token: ObservationToken, to owner: AnyObject) {
        let last = tie.withLock { tie in
            defer { tie = Tie(owner: Presence(owner), token: token) }
            return tie
        }
        let before = phase.compareExchange(expected: .open, desired: .tied, ordering: .sequentiallyConsistent).original
        if before == .ended { end() }
        withExtendedLifetime(last) {}
    }
}

/// Tells whether an object is still there.
// Sendable even if the object is not: nothing is done with the object, and one without other references may go on any thread.
private struct Presence: @unchecked Sendable {
    private weak var object: AnyObject?

    init(_ object: AnyObject) {
        self.object = object
    }

    var isThere: Bool {
        object != nil
    }
}
