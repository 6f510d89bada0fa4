import Dispatch

/// A value that is made when it is first asked for, once, however many threads ask.
final class Once<Value: Sendable>: Sendable {
    private struct State: Sendable {
        /// Nil once somebody has begun.
        var make: (@Sendable () -> Value)?
        /// Those who wait for the value, while somebody makes it.
        var waiting: DispatchGroup?
        var made: Value?
    }

    private let state: Guarded<State>

    init(_ make: @escaping @Sendable () -> Value) {
        state = Guarded(State(make: make))
    }

    /// The value; asking for it while making it never returns.
    var value: Value {
        let found = state.take { state in
            let found = state
            if state.make != nil {
                state = State(waiting: DispatchGroup())
                state.waiting?.enter()
            }
            return (found, state.waiting)
        }
        let (before, group) = found
        if let made = before.made { return made }
        guard let make = before.make else {
            group?.wait()
            return self.value
        }
        // The closure is the user's: it runs outside the lock, and other threads wait for the group.
        let made = make()
        state.withLock { $0 = State(made: made) }
        group?.leave()
        return made
    }
}
