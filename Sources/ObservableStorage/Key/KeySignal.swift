import Observation

/// What Observation tracks for one key: a property without a value, accessed when the key is read, mutated when it changes.
final class KeySignal: Observable, Sendable {
    // Making a key path anew costs more than all the rest of a reading, and asking whether it is made already costs a third of it.
    private static let madePath: any KeyPath<KeySignal, Void> & Sendable = \.value

    private let path = KeySignal.madePath
    private let registrar = ObservationRegistrar()

    private var value: Void { () }

    /// Notes that the key is read.
    func access() {
        registrar.access(self, keyPath: path)
    }

    /// Tells whoever read the key that it has changed.
    func notify() {
        registrar.withMutation(of: self, keyPath: path) {}
    }
}
