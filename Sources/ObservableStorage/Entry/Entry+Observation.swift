import Observation
import Synchronization

// Observation is told of reads and of changes.
extension Entry {
    /// A property without a value, which is accessed when the entry is read and mutated when it changes.
    final class Tracking: Sendable {
        let registrar = ObservationRegistrar()
        let path = Entry.observedPath
        let queue: DeliveryQueue

        init(store: UInt64) {
            queue = DeliveryQueue(group: store, .listening)
        }
    }

    // Creating a key path each time costs more than the rest of a read, and checking whether it was created costs a third of one.
    fileprivate static let observedPath: any KeyPath<Entry, Void> & Sendable = \.observed

    private var observed: Void { () }

    /// Whether Observation has ever tracked a read of the entry. Checked after a change was counted.
    var isTracked: Bool {
        tracking.load(ordering: .sequentiallyConsistent) != nil
    }

    private func beginTracking() -> UnsafeRawPointer {
        let new = Unmanaged.passRetained(Tracking(store: store))
        let found = tracking.compareExchange(expected: nil, desired: new.toOpaque(), ordering: .sequentiallyConsistent).original
        if found != nil { new.release() }
        return found ?? UnsafeRawPointer(new.toOpaque())
    }

    /// Registers a read of the entry with Observation. Called before the read, so that no change in between is missed.
    func access() {
        let tracking = tracking.load(ordering: .acquiring) ?? beginTracking()
        Unmanaged<Tracking>.fromOpaque(tracking)._withUnsafeGuaranteedRef { $0.registrar.access(self, keyPath: $0.path) }
    }

    /// Queues the notification of Observation that the entry has changed.
    func postMutation(to deliveries: inout Deliveries) {
        let tracking = Unmanaged<Tracking>.fromOpaque(tracking.load(ordering: .acquiring) ?? beginTracking()).takeUnretainedValue()
        deliveries.append(to: tracking.queue) { [self] in tracking.registrar.withMutation(of: self, keyPath: tracking.path) {} }
    }
}
