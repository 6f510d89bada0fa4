import Dispatch

/// Readers that wait and have a value now. Resuming one costs far more than handing it the value, so that a crowd of them is
/// resumed on another thread while the writer goes on.
final class Wakeups: Sendable {
    // As many as the writer resumes itself in less time than another thread would take to begin.
    private static let few = 8

    private let crowds = Guarded<[(readers: [LatestSlot.Reader], box: AnyBox)]>([])

    /// Adds readers of one value. They are resumed when the delivery that gave it to them has been made.
    func add(_ readers: [LatestSlot.Reader], _ box: AnyBox) {
        crowds.withLock { $0.append((readers, box)) }
    }

    /// Resumes those that have been added.
    func wake() {
        let crowds = crowds.withLock { crowds in
            defer { if !crowds.isEmpty { crowds = [] } }
            return crowds
        }
        for (readers, box) in crowds {
            if readers.count > Self.few {
                // One thread, so that readers run on the others meanwhile.
                DispatchQueue.global().async { Self.resume(readers, with: box) }
            } else {
                Self.resume(readers, with: box)
            }
        }
    }

    private static func resume(_ readers: [LatestSlot.Reader], with box: AnyBox) {
        for reader in readers { reader.resume(returning: box) }
    }
}
