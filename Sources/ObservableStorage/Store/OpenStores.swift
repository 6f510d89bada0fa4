import Dispatch
import Foundation

/// The stores of this process, so that the end of the process finds what they have not written yet.
final class OpenStores: Sendable {
    private struct Reference: Sendable {
        weak var store: ObservableStore?
    }

    private let references = Guarded<[ObjectIdentifier: Reference]>([:])

    /// The stores of the process; the first use registers their flush with `atexit`.
    static let all: OpenStores = {
        atexit { OpenStores.all.flush() }
        return OpenStores()
    }()

    func add(_ store: ObservableStore) {
        references.withLock { $0[ObjectIdentifier(store)] = Reference(store: store) }
    }

    func remove(_ identifier: ObjectIdentifier) {
        references.withLock { $0[identifier] = nil }
    }

    private func flush() {
        let stores = references.withLock { $0.values.compactMap(\.store) }
        let group = DispatchGroup()
        for store in stores { store.flushBeforeExit(group) }
        // A listener that waits for the thread that exits must not keep the process from ending.
        _ = group.wait(timeout: .now() + .seconds(30))
    }
}
