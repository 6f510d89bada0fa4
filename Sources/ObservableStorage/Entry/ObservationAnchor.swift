import Observation
import Synchronization

/// What Observation tracks for one entry: a property without a value, accessed when the entry is read, mutated when it changes.
final class ObservationAnchor: Observable, Sendable {
    // Making a key path anew costs more than all the rest of a reading, and asking whether it is made already costs a third of it.
    private static let madePath: any KeyPath<ObservationAnchor, Void> & Sendable = \.value

    private let path = ObservationAnchor.madePath
    private let registrar = ObservationRegistrar()
    private let wasAccessed = Atomic(false)
    // Made for the first change.
    private let queue = Guarded<DeliveryQueue?>(nil)

    private var value: Void { () }

    /// Whether anybody has ever read the entry so.
    var isAccessed: Bool {
        wasAccessed.load(ordering: .sequentiallyConsistent)
    }

    /// Notes that the entry is read. Comes before the reading, so that no change falls between the two.
    func access() {
        if !wasAccessed.load(ordering: .relaxed) { wasAccessed.store(true, ordering: .sequentiallyConsistent) }
        registrar.access(self, keyPath: path)
    }

    /// Queues telling whoever read the entry that it has changed.
    func post(to deliveries: inout Deliveries, group: UInt64) {
        let made = queue.withLock { queue in
            let made = queue ?? DeliveryQueue(group: group, .listening)
            queue = made
            return made
        }
        deliveries.append(to: made) { [self] in registrar.withMutation(of: self, keyPath: path) {} }
    }
}
