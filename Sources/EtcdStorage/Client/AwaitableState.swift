import Dispatch
import ObservableStorage

// Not in the pool of threads, which may be busy.
private let alarms = DispatchQueue(label: "EtcdStorage.AwaitableState")

/// A state under a lock, in which tasks can wait for what they look for.
final class AwaitableState<State: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// Somebody who waits.
    fileprivate struct Waiter: Sendable {
        /// When to give up.
        let deadline: Instant
        /// Called after each change; returns what to do outside the lock if it was found. Nil while nobody waits yet.
        var check: (@Sendable (inout State) -> (@Sendable () -> Void)?)?
        /// Ends the waiting without it.
        var cancel: (@Sendable () -> Void)?
    }

    fileprivate struct Contents: Sendable {
        var state: State
        var waiting: [Int: Waiter] = [:]
        var lastNumber = 0
        /// When the next of those who wait are given up.
        var alarm: Instant?
    }

    private let contents: Lock<Contents>

    init(_ state: State) {
        contents = Lock(Contents(state: state))
    }

    /// Accesses the state under the lock, without a change for which somebody may wait.
    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try contents.withLock { try body(&$0.state) }
    }

    /// Whether somebody waits.
    var isAwaited: Bool { contents.withLock { !$0.waiting.isEmpty } }

    /// Changes the state under the lock, and goes on with those who find in it what they wait for.
    ///
    /// - Parameter action: called outside the lock with the result of the change, before they go on.
    func update<Result>(_ body: (inout State) -> Result, before action: (Result) -> Void = { _ in }) {
        let (result, ready) = contents.withLock { contents in (body(&contents.state), contents.ready()) }
        action(result)
        for action in ready { action() }
    }

    /// Waits until a closure finds what it looks for, which is called under the lock; returns nil at the deadline, or when the task is
    /// cancelled.
    nonisolated(nonsending) func wait<Value: Sendable>(
        until deadline: Instant, for find: @escaping @Sendable (inout State) -> Value?
    ) async -> Value? {
        if let value = withLock({ find(&$0) }) { return value }
        if deadline <= .now { return nil }
        let number = contents.withLock { contents in
            contents.lastNumber += 1
            contents.waiting[contents.lastNumber] = Waiter(deadline: deadline)
            return contents.lastNumber
        }
        setAlarm(deadline)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
                let isOver = contents.withLock { contents in
                    guard contents.waiting[number] != nil else { return true }
                    contents.waiting[number]?.check = { state in
                        guard let value = find(&state) else { return nil }
                        return { continuation.resume(returning: value) }
                    }
                    contents.waiting[number]?.cancel = { continuation.resume(returning: nil) }
                    return false
                }
                if isOver { return continuation.resume(returning: nil) }
                // It may have come meanwhile.
                for action in contents.withLock({ $0.ready() }) { action() }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = contents.withLock { $0.waiting.removeValue(forKey: number) }
        waiter?.cancel?()
    }

    /// Gives up those whose deadlines have passed, at a time. All share one timer: one for each transaction would cost more than the wait.
    private func setAlarm(_ instant: Instant) {
        let isEarlier = contents.withLock { contents in
            if let alarm = contents.alarm, alarm <= instant { return false }
            contents.alarm = instant
            return true
        }
        guard isEarlier else { return }
        alarms.asyncAfter(deadline: .after(instant - .now)) { [weak self] in self?.alarmRang(instant) }
    }

    private func alarmRang(_ instant: Instant) {
        let (expired, next) = contents.withLock { contents in
            if contents.alarm == instant { contents.alarm = nil }
            let now = Instant.now
            let expired = contents.waiting.filter { $0.value.deadline <= now }.keys
            return (Array(expired), contents.waiting.values.map(\.deadline).filter { $0 > now }.min())
        }
        for number in expired { giveUp(number) }
        if let next { setAlarm(next) }
    }
}

extension AwaitableState.Contents {
    /// What to do for those who have found what they wait for.
    fileprivate mutating func ready() -> [@Sendable () -> Void] {
        var actions: [@Sendable () -> Void] = []
        for (number, waiter) in waiting {
            guard let action = waiter.check?(&state) else { continue }
            waiting.removeValue(forKey: number)
            actions.append(action)
        }
        return actions
    }
}
