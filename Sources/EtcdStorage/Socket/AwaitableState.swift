import Dispatch
import ObservableStorage

// Not in the cooperative thread pool, whose threads may all be busy.
private let alarms = DispatchQueue(label: "EtcdStorage.AwaitableState")

/// A state under a lock, with tasks that wait for a condition on it.
final class AwaitableState<State: Sendable>: Sendable {
    typealias Instant = ContinuousClock.Instant

    fileprivate struct Waiter: Sendable {
        /// When the wait times out.
        let deadline: Instant
        /// Called after each change; if the condition holds, returns what resumes the task, to be called outside the lock.
        let check: @Sendable (inout State) -> (@Sendable () -> Void)?
        /// Resumes the task without a result.
        let cancel: @Sendable () -> Void
    }

    fileprivate struct Contents: Sendable {
        var state: State
        var waiters: [Int: Waiter] = [:]
        var lastNumber = 0
        /// The time for which the timer is set.
        var alarm: Instant?
    }

    private let contents: Lock<Contents>

    init(_ state: State) {
        contents = Lock(Contents(state: state))
    }

    /// Accesses the state under the lock, without a change that a task may wait for.
    func withLock<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try contents.withLock { try body(&$0.state) }
    }

    /// Whether a task waits.
    var isAwaited: Bool { contents.withLock { !$0.waiters.isEmpty } }

    /// Changes the state under the lock, and resumes the tasks whose conditions hold then.
    ///
    /// - Parameter action: called outside the lock with the result of the change, before the tasks are resumed.
    func update<Result>(_ body: (inout State) -> Result, before action: (Result) -> Void = { _ in }) {
        let (result, resumptions) = contents.withLock { contents in (body(&contents.state), contents.takeResumptions()) }
        action(result)
        for resume in resumptions { resume() }
    }

    /// Waits until a closure, which is called under the lock, returns a value; returns nil at the deadline, or when the task is cancelled.
    nonisolated(nonsending) func wait<Value: Sendable>(
        until deadline: Instant, for find: @escaping @Sendable (inout State) -> Value?
    ) async -> Value? {
        if let value = withLock({ find(&$0) }) { return value }
        if deadline <= .now { return nil }
        let number = contents.withLock { contents in
            contents.lastNumber += 1
            return contents.lastNumber
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Value?, Never>) in
                let waiter = Waiter(deadline: deadline) { state in
                    guard let value = find(&state) else { return nil }
                    return { continuation.resume(returning: value) }
                } cancel: {
                    continuation.resume(returning: nil)
                }
                let resumptions = contents.withLock { contents in
                    contents.waiters[number] = waiter
                    // The state may have changed since the first look.
                    return contents.takeResumptions()
                }
                for resume in resumptions { resume() }
                setAlarm(deadline)
                // The handler may have been called before there was a waiter.
                if Task.isCancelled { giveUp(number) }
            }
        } onCancel: {
            giveUp(number)
        }
    }

    private func giveUp(_ number: Int) {
        let waiter = contents.withLock { $0.waiters.removeValue(forKey: number) }
        waiter?.cancel()
    }

    /// Sets the timer for a deadline, unless it is set for an earlier one. A timer for each transaction would cost more than the wait.
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
            let expired = contents.waiters.filter { $0.value.deadline <= now }.keys
            return (Array(expired), contents.waiters.values.map(\.deadline).filter { $0 > now }.min())
        }
        for number in expired { giveUp(number) }
        if let next { setAlarm(next) }
    }
}

extension AwaitableState.Contents {
    /// Removes the waiters whose conditions hold, and returns what resumes their tasks.
    fileprivate mutating func takeResumptions() -> [@Sendable () -> Void] {
        var resumptions: [@Sendable () -> Void] = []
        for (number, waiter) in waiters {
            guard let resume = waiter.check(&state) else { continue }
            waiters.removeValue(forKey: number)
            resumptions.append(resume)
        }
        return resumptions
    }
}
