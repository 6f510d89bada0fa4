import Observation

/// What Observation tracks for one key: a property without a value, accessed when the key is read, mutated when it changes.
final class KeySignal: Observable, Sendable {
    // Making a key path anew costs more than all the rest of a reading, and asking whether it is made already costs a third of it.
    private static let madePath: any KeyPath<KeySignal, Void> & Sendable = \.value

    private let path = KeySignal.madePath
    private let registrar = ObservationRegistrar()
    // Made for the first change.
    private let queue = Guarded<DeliveryQueue?>(nil)

    private var value: Void { () }

    /// Notes that the key is read.
    func access() {
        registrar.access(self, keyPath: path)
    }

    /// Queues telling whoever read the key that it has changed.
    func post(to deliveries: inout Deliveries, group: UInt64) {
        let made = queue.withLock { queue in
            let made = queue ?? DeliveryQueue(group: group, .listening)
            queue = made
            return made
        }
        deliveries.append(to: made) { [self] in registrar.withMutation(of: self, keyPath: path) {} }
    }
}
