public import Dispatch
import Synchronization

extension PropertyListFile {
    // Editors that move the old file away before they write the new one are done in less, on a busy machine too.
    private static let grace: DispatchTimeInterval = .milliseconds(500)

    /// Watches the file, also while it or its folder is missing. A file that goes is reported after a short grace, for editors
    /// that delete it before they write it again.
    public func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        let gate = Gate()
        let reportChange: @Sendable () -> Void = { if !gate.isShut { report(.changed) } }
        let watcher = FileWatcher(path: name, queue: queue) { event in
            switch event {
            case .fallback(let error): report(.failed(error))
            case .lookAgain where self.hasGone: queue.asyncAfter(deadline: .now() + Self.grace, execute: reportChange)
            case .lookAgain: reportChange()
            }
        }
        return ObservationToken {
            gate.shut()
            watcher.cancel()
        }
    }

    private var hasGone: Bool {
        guard lastSeen.withLock({ $0?.identity }) != nil else { return false }
        do {
            return try FileIdentity(path: name, calls: calls) == nil
        } catch {
            // Whoever reads the file next says what is wrong with it.
            return false
        }
    }
}
