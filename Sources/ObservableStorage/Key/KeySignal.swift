import Observation

/// What Observation tracks for one key: a property without a value, accessed when the key is read, mutated when it changes.
final class KeySignal: Observable, Sendable {
    private let registrar = ObservationRegistrar()

    private var value: Void { () }

    /// Notes that the key is read.
    func access() {
        registrar.access(self, keyPath: \.value)
    }

    /// Tells whoever read the key that it has changed.
    func notify() {
        registrar.withMutation(of: self, keyPath: \.value) {}
    }
}
