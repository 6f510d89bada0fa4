import Dispatch

/// A value that is created on first access, once, by any number of threads.
final class Once<Value: Sendable>: Sendable {
    private enum State {
        case pending(create: @Sendable () -> Value)
        /// Other threads wait for the group.
        case creating(DispatchGroup)
        case created(Value)
    }

    private let state: Lock<State>

    init(_ create: @escaping @Sendable () -> Value) {
        state = Lock(.pending(create: create))
    }

    /// The value; accessing it inside the closure that creates it deadlocks.
    var value: Value {
        let found = state.take { state in
            let found = state
            if case .pending = found {
                let group = DispatchGroup()
                group.enter()
                state = .creating(group)
            }
            return found
        }
        switch found {
        case .created(let value): return value
        case .creating(let group):
            group.wait()
            return self.value
        case .pending(let create):
            // User code, which must not run under the lock.
            let value = create()
            let before = state.withLock { state in
                defer { state = .created(value) }
                return state
            }
            if case .creating(let group) = before { group.leave() }
            return value
        }
    }
}

extension Lock {
    /// The object of a key, created outside the lock if there is none; concurrent callers all get the same one.
    ///
    /// - Parameter limit: the number of objects that are kept; any more are created by each call.
    package borrowing func object<Key: Hashable & Sendable, Object: Sendable>(
        of key: Key, limit: Int = .max, or make: () -> Object
    ) -> Object where Value == [Key: Object] {
        if let known = withLock({ $0[key] }) { return known }
        let object = make()
        return withLock { objects in
            // Another thread may have been faster.
            if let known = objects[key] { return known }
            if objects.count < limit { objects[key] = object }
            return object
        }
    }
}
