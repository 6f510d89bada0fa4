import Dispatch
import Observation

/// Notifies the views that read a value of its changes: on the main actor, and never while a value is being read there.
///
/// Reading a key may store its default, which is a change in the middle of a view's `body`, where SwiftUI does not allow notifications. They
/// are postponed for every value, because other values may depend on the same key.
final class MainActorRegistrar: Observable, Sendable {
    private static let observedPath: any KeyPath<MainActorRegistrar, Void> & Sendable = \.observed
    // To be notified soon, in the order of the changes, each once.
    private static let postponed = Lock<[MainActorRegistrar]>([])

    // Of a property without a value, which is in the store.
    private let registrar = ObservationRegistrar()

    private var observed: Void { () }

    /// Registers a read with Observation. Called before the read, so that no change in between is missed.
    func access() {
        registrar.access(self, keyPath: Self.observedPath)
    }

    /// Notifies of a change, or postpones that if a value is being read, possibly through the store.
    @MainActor func notify() {
        if DeliveryThread.current.isReading { notifyLater() } else { notifyNow() }
    }

    /// Notifies soon, on the main actor.
    func notifyLater() {
        let isFirst = Self.postponed.withLock { postponed in
            defer { if !postponed.contains(where: { $0 === self }) { postponed.append(self) } }
            return postponed.isEmpty
        }
        if isFirst { DispatchQueue.main.async(execute: Self.notifyPostponed) }
    }

    static func notifyPostponed() {
        let thread = DeliveryThread.current
        // In a run loop that runs inside a read, which waits for its end.
        if thread.isReading { return thread.afterReading = { DispatchQueue.main.async(execute: notifyPostponed) } }
        for registrar in postponed.exchange([]) { registrar.notifyNow() }
    }

    /// Reads a value. On the main actor, the notifications of changes made meanwhile are postponed.
    static func reading<Result>(_ body: () -> Result) -> Result {
        // Elsewhere, changes are delivered to the main actor asynchronously anyway.
        MainActor.isCurrent ? DeliveryThread.current.reading(body) : body()
    }

    private func notifyNow() {
        registrar.withMutation(of: self, keyPath: Self.observedPath) {}
    }
}
