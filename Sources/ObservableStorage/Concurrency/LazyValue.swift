import Dispatch

/// A value that is made when it is first asked for, once, however many threads ask.
final class LazyValue<Value: Sendable>: Sendable {
    private enum State {
        case unmade(@Sendable () -> Value)
        case making(DispatchGroup)
        case made(Value)
    }

    private enum Turn {
        case make(@Sendable () -> Value, DispatchGroup)
        case wait(DispatchGroup)
        case done(Value)
    }

    private let state: Guarded<State>

    init(_ make: @escaping @Sendable () -> Value) {
        state = Guarded(.unmade(make))
    }

    /// The value; asking for it while making it never returns.
    var value: Value {
        switch next() {
        case .done(let value):
            return value
        case .wait(let group):
            group.wait()
            return self.value
        case .make(let make, let group):
            // The closure is the user's: it runs outside the lock, and other threads wait for the group.
            let value = make()
            state.withLock { $0 = .made(value) }
            group.leave()
            return value
        }
    }

    private func next() -> Turn {
        state.withLock { state in
            switch state {
            case .made(let value):
                return .done(value)
            case .making(let group):
                return .wait(group)
            case .unmade(let make):
                let group = DispatchGroup()
                group.enter()
                state = .making(group)
                return .make(make, group)
            }
        }
    }
}
