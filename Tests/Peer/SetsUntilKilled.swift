import Dispatch
import Foundation
import ObservableStorage
import Synchronization
import TestSupport

/// Sets keys from several threads, and prints each value after `set` has returned, until the process is killed, or is asked to end.
struct SetsUntilKilled {
    let path: String
    let writers: ClosedRange<Int>
    let journal: JournalMode

    private static let isEnding = Atomic(false)

    /// - Parameter arguments: the path, the number of writers, the mode of the journal, and the number of the first writer.
    init(_ arguments: [String]) {
        path = arguments[0]
        let first = arguments.count > 3 ? Int(arguments[3]) ?? 0 : 0
        writers = first...(first + (Int(arguments[1]) ?? 1) - 1)
        journal = JournalMode(argument: arguments.count > 2 ? arguments[2] : "edits")
    }

    /// The keys are `writer.0` and so on; the lines are `KEY VALUE`. Nothing is flushed by request, until the line `end` is read.
    func run() async throws {
        let store = try ObservableStore(
            at: URL(fileURLWithPath: path), configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), journal) })
        let failures = Task {
            for await failure in store.failures { try Peer.say("failed: \(failure)") }
        }
        let ended = DispatchGroup()
        for writer in writers {
            let first = try store.value(for: Self.key(writer))
            ended.enter()
            Thread.detachNewThread {
                var number = first
                while !Self.isEnding.load(ordering: .relaxed) {
                    number += 1
                    do {
                        try store.set(number, for: Self.key(writer))
                        try store.set("text \(number)", for: StorageKey("text.\(writer)", default: ""))
                        try Peer.say("\(writer) \(number)")
                    } catch {
                        exit(1)
                    }
                }
                ended.leave()
            }
        }
        guard readLine() == "end" else { exit(1) }
        Self.isEnding.store(true, ordering: .relaxed)
        await withCheckedContinuation { continuation in ended.notify(queue: .global()) { continuation.resume() } }
        try await store.close()
        try await failures.value
    }

    private static func key(_ writer: Int) -> StorageKey<Int> {
        StorageKey("writer.\(writer)", default: 0)
    }
}
