import Dispatch

/// A value that is made when it is first asked for, once, however many threads ask.
final class Once<Value: Sendable>: Sendable {
    // What makes the value, until somebody has begun; the others who wait for it, while somebody makes it; and the value.
    private let state: Lock<(make: (@Sendable () -> Value)?, waiting: DispatchGroup?, made: Value?)>

    init(_ make: @escaping @Sendable () -> Value) {
        state = Lock((make, nil, nil))
    }

    /// The value; asking for it while making it never returns.
    var value: Value {
        let found = state.take { state in
            let found = state
            if state.make != nil {
                state = (nil, DispatchGroup(), nil)
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
        state.withLock { $0 = (nil, nil, made) }
        group?.leave()
        return made
    }
}
