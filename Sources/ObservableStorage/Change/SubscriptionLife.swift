import Dispatch
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

    /// Ends it, once, and cancels the token that is tied. Not to be called under a lock: both may run user code.
    final func end() {
        phase.store(.ended, ordering: .sequentiallyConsistent)
        tie.take { $0.take() }?.token.cancel()
    }

    /// Keeps a token until an object goes.
    final func tie(_ token: ObservationToken, to owner: AnyObject) {
        tie.take { tie in
            defer { tie = Tie(owner: Presence(owner), token: token) }
            return tie
        }
        let before = phase.compareExchange(expected: .open, desired: .tied, ordering: .sequentiallyConsistent).original
        if before == .ended { end() }
    }
}

/// Looks once a second whether the objects are there that tokens without a publisher are tied to: nothing else would notice.
final class OwnerPolling: Sendable {
    private struct State {
        var lives: [ObjectIdentifier: SubscriptionLife] = [:]
        var isTimed = false
    }

    /// The one of the process. There is a timer only while there are such tokens.
    static let shared = OwnerPolling()

    private static let interval: DispatchTimeInterval = .seconds(1)
    private let state = Guarded(State())

    /// Looks at a life until it has ended.
    func add(_ life: SubscriptionLife) {
        let isTimed = state.withLock { state in
            state.lives[ObjectIdentifier(life)] = life
            defer { state.isTimed = true }
            return state.isTimed
        }
        if !isTimed { lookLater() }
    }

    private func lookLater() {
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + Self.interval) { [self] in
            let ended = state.withLock { $0.lives }.filter { $0.value.isEnded }
            let isTimed = state.withLock { state in
                for life in ended.keys { state.lives[life] = nil }
                state.isTimed = !state.lives.isEmpty
                return state.isTimed
            }
            if isTimed { lookLater() }
        }
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
