import Dispatch
import Observation

/// Notifies the views that read a value of its changes: on the main actor, and never while a value is being read there.
///
/// Reading a key may migrate it, which is a change in the middle of a view's `body`, where SwiftUI does not allow notifications. They are
/// postponed for every value, because other values may depend on the same key.
final class MainActorRegistrar: Observable, Sendable {
    private static let observedPath: any KeyPath<MainActorRegistrar, Void> & Sendable = \.observed
    private static let schedule = Lock(NotificationSchedule<MainActorRegistrar>())

    // Of a property without a value, which is in the store.
    private let registrar = ObservationRegistrar()

    private var observed: Void { () }

    /// Registers a read with Observation. Called before the read, so that no change in between is missed.
    func access() {
        registrar.access(self, keyPath: Self.observedPath)
    }

    /// Notifies of a change, or postpones that if a value is being read.
    @MainActor func notify() {
        // The value may be read through the store, not through an instance of this type.
        if DeliveryThread.current.isReading { return notifyLater() }
        if Self.schedule.withLock({ $0.change(of: self) }) { notifyNow() }
    }

    /// Notifies soon, on the main actor.
    func notifyLater() {
        if Self.schedule.withLock({ $0.postpone(self) }) { Self.notifyPostponed() }
    }

    /// Reads a value. On the main actor, the notifications of changes made meanwhile are postponed.
    static func reading<Result>(_ body: () -> Result) -> Result {
        // Elsewhere, changes are delivered to the main actor asynchronously anyway.
        guard MainActor.isCurrent else { return body() }
        schedule.withLock { $0.beginRead() }
        defer { if schedule.withLock({ $0.endRead() }) { notifyPostponed() } }
        return body()
    }

    private static func notifyPostponed() {
        DispatchQueue.main.async {
            let postponed = schedule.take { $0.takePostponed() }
            for registrar in postponed { registrar.notifyNow() }
        }
    }

    private func notifyNow() {
        registrar.withMutation(of: self, keyPath: Self.observedPath) {}
    }
}

extension MainActorRegistrar: Equatable {
    static func == (left: MainActorRegistrar, right: MainActorRegistrar) -> Bool {
        left === right
    }
}

/// Decides which notifications of the main actor are made at once, and which after the reads that are in progress.
struct NotificationSchedule<Observed: Equatable> {
    private var readCount = 0
    private var postponed: [Observed] = []
    private var isScheduled = false

    /// Begins a read on the main actor; reads can be nested.
    mutating func beginRead() {
        readCount += 1
    }

    /// Ends a read.
    ///
    /// - Returns: whether the caller has to schedule ``takePostponed()``.
    mutating func endRead() -> Bool {
        readCount -= 1
        return needsScheduling()
    }

    /// Records a change on the main actor.
    ///
    /// - Returns: whether to notify at once.
    mutating func change(of observed: Observed) -> Bool {
        guard readCount > 0 else { return true }
        append(observed)
        return false
    }

    /// Records a notification that is never made at once.
    ///
    /// - Returns: whether the caller has to schedule ``takePostponed()``.
    mutating func postpone(_ observed: Observed) -> Bool {
        append(observed)
        return needsScheduling()
    }

    /// The notifications to be made now, in the order of the changes, each once; none during a read, whose end schedules them again.
    mutating func takePostponed() -> [Observed] {
        isScheduled = false
        guard readCount == 0 else { return [] }
        defer { postponed = [] }
        return postponed
    }

    private mutating func append(_ observed: Observed) {
        if !postponed.contains(observed) { postponed.append(observed) }
    }

    private mutating func needsScheduling() -> Bool {
        guard readCount == 0, !postponed.isEmpty, !isScheduled else { return false }
        isScheduled = true
        return true
    }
}
