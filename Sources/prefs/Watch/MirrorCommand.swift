import Dispatch
import EtcdStorage
import FoundationSubset
import ObservableStorage

extension Command {
    static let mirror = Command(
        "mirror", operands: "ENDPOINTS/PREFIX FILE", etcdOperand: 0,
        summary: "Keep FILE equal to the entries under a prefix in etcd until interrupted; other programs watch FILE.",
        details: """
            Entries of FILE that are not under the prefix are removed, and changes to FILE by others are overwritten at the next change in etcd.
            FILE is replaced atomically, once for all pending changes. While the cluster cannot be reached, FILE keeps its entries, and standard
            error says so; entries that cannot be stored in FILE are reported there as well, and retried. SIGINT and SIGTERM end the command
            with status 0.
            """
    ) { arguments, _ in
        let etcd = try EtcdBackend.make(arguments)
        let file = PropertyListFile(operand: arguments.operands[1])
        let signals = onSignals([SIGINT, SIGTERM]) { _ in exit(0) }
        withExtendedLifetime(signals) {
            Prefs.run { try await keep(file, equalTo: try await repeating { try await ObservableStore.open(etcd) }) }
        }
    }

    /// Writes the entries of a store to the file now and after each change, until the store ends.
    private static func keep(_ file: PropertyListFile, equalTo store: ObservableStore) async throws {
        // Each write stores the current entries, so one buffered change is enough.
        let changes = store.allChanges(bufferingPolicy: .bufferingNewest(1))
        let queue = DispatchQueue(label: "prefs mirror")
        try await withThrowingTaskGroup { group in
            group.addTask { [failures = store.failures] in
                for await failure in failures { CommandError(failure).report() }
            }
            group.addTask { [updates = store.availabilityUpdates, name = store.name] in await reportRecoveries(updates, of: name) }
            try await repeating { try await update(file, from: store, on: queue) }
            for await _ in changes { try await repeating { try await update(file, from: store, on: queue) } }
            group.cancelAll()
        }
    }

    /// Makes the entries of the file those of a store, as one edit.
    private static func update(_ file: PropertyListFile, from store: ObservableStore, on queue: DispatchQueue) async throws {
        // File access may block, which threads of the cooperative pool must not.
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            queue.async {
                continuation.resume(
                    with: Result {
                        let entries = store.entries
                        _ = try file.reporting {
                            try file.editList { stored in
                                for key in stored.values.keys where entries[key] == nil { stored[key] = nil }
                                for (key, value) in entries { stored[key] = value }
                            }
                        }
                    })
            }
        }
    }

    /// Prints when the cluster can be reached again; the store reports when it cannot.
    private static func reportRecoveries(_ updates: AsyncStream<StorageAvailability>, of name: String) async {
        var wasAvailable = true
        for await availability in updates {
            let isAvailable = availability == .available
            if isAvailable, !wasAvailable { CommandError.print("prefs: \(name): can be reached again") }
            wasAvailable = isAvailable
        }
    }

    /// Runs an operation until it succeeds, and prints its error each time it changes.
    private static func repeating<Success: Sendable>(_ operation: () async throws -> Success) async throws -> Success {
        var reported: CommandError?
        while true {
            do {
                return try await operation()
            } catch {
                let error = CommandError(error)
                if error != reported { error.report() }
                reported = error
            }
            try await Task.sleep(for: .seconds(2))
        }
    }
}
