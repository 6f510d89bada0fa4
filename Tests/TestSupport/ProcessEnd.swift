import Foundation
import Synchronization

/// What is done at the end of a test process.
enum ProcessEnd {
    // Handlers of `atexit` cannot capture.
    private static let actions: Mutex<[@Sendable () -> Void]> = {
        atexit { for action in ProcessEnd.actions.withLock({ $0 }) { action() } }
        return Mutex([])
    }()

    /// Removes something now, and once more at the end of the process: a store that a test releases with unwritten edits writes them
    /// afterwards, and creates its file again.
    static func remove(_ remove: @escaping @Sendable () -> Void) {
        actions.withLock { $0.append(remove) }
        remove()
    }
}
