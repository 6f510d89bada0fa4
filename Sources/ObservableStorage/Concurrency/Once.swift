import Dispatch

/// A value that is created on first access, once, by any number of threads.
final class Once<Value: Sendable>: Sendable {
    private let state: Lock<OnceState>

    init(_ create: @escaping @Sendable () -> Value) {
        state = Lock(.pending { Box(create()) })
    }

    /// The value; accessing it inside the closure that creates it deadlocks.
    var value: Value {
        unsafeDowncast(box, to: Box<Value>.self).value
    }

    private var box: AnyBox {
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
        case .created(let box): return box
        case .creating(let group):
            group.wait()
            return self.box
        case .pending(let create):
            // User code, which must not run under the lock.
            let box = create()
            let before = state.withLock { state in
                defer { state = .created(box) }
                return state
            }
            if case .creating(let group) = before { group.leave() }
            return box
        }
    }
}

/// Not generic, because generic code looks up its types in each call.
private enum OnceState: Sendable {
    case pending(create: @Sendable () -> AnyBox)
    /// Other threads wait for the group.
    case creating(DispatchGroup)
    case created(AnyBox)
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
