import Dispatch

/// A value that is created on first access, once, by any number of threads.
final class Once<Value: Sendable>: Sendable {
    // The closure that creates the value, until it is called; the group for which other threads wait, while it runs; and the value.
    private let state: Lock<(make: (@Sendable () -> Value)?, waiting: DispatchGroup?, made: Value?)>

    init(_ make: @escaping @Sendable () -> Value) {
        state = Lock((make, nil, nil))
    }

    /// The value; accessing it inside the closure that creates it deadlocks.
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
        // The closure is user code: it runs outside the lock, and other threads wait for the group.
        let made = make()
        state.withLock { $0 = (nil, nil, made) }
        group?.leave()
        return made
    }
}

extension Lock {
    /// The object of a key, created outside the lock if there is none; all callers get the same one, also if several create it at once.
    package borrowing func object<Key: Hashable & Sendable, Object: Sendable>(of key: Key, or make: () -> Object) -> Object
    where Value == [Key: Object] {
        if let known = withLock({ $0[key] }) { return known }
        let made = make()
        return withLock { objects in
            // Another thread may have been faster.
            if let known = objects[key] { return known }
            objects[key] = made
            return made
        }
    }
}
