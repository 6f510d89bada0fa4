import Synchronization

/// Open until it is shut, once.
final class Gate: Sendable {
    private let wasShut = Atomic(false)

    /// Whether it has been shut.
    var isShut: Bool {
        wasShut.load(ordering: .acquiring)
    }

    func shut() {
        wasShut.store(true, ordering: .releasing)
    }
}
