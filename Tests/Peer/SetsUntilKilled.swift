import Dispatch
import Foundation
import ObservableStorage

/// Sets keys from several threads, and prints each value after `set` has returned, until the process is killed.
struct SetsUntilKilled {
    let path: String
    let writers: Int

    /// The keys are `writer.0` and so on; the lines are `KEY VALUE`. Nothing is flushed by request.
    func run() async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), journal: .edits)
        let first = try (0..<writers).map { try store.value(for: Self.key($0)) }
        for writer in 0..<writers {
            Thread.detachNewThread {
                var number = first[writer]
                while true {
                    number += 1
                    do {
                        try store.set(number, for: Self.key(writer))
                        try store.set("text \(number)", for: StorageKey("text.\(writer)", default: ""))
                        try Peer.say("\(writer) \(number)")
                    } catch {
                        exit(1)
                    }
                }
            }
        }
        while true { try await Task.sleep(for: .seconds(60)) }
    }

    private static func key(_ writer: Int) -> StorageKey<Int> {
        StorageKey("writer.\(writer)", default: 0)
    }
}
