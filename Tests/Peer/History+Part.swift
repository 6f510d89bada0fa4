import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

extension History {
    /// Participates in a history of several processes: writes and exits on request, and prints violated rules.
    ///
    /// - Parameter toleratesFailures: whether the storage may fail meanwhile, and works again in the end.
    static func take(
        part name: String, seed: String, steps: String, beside others: String, in store: ObservableStore, toleratesFailures: Bool = false
    ) async throws {
        let witness = StoreWitness(store)
        try Peer.say("ready")
        _ = readLine()
        var writer = RandomWriter(name, seed: UInt64(seed) ?? 0, store: store, toleratesFailures: toleratesFailures)
        try await writer.run(steps: Int(steps) ?? 0)
        try await store.flush()
        try Peer.say("written")
        _ = readLine()
        // A transaction begins with the entries stored by then.
        try await store.update { _ in }
        try await store.close()
        let history = await witness.history(writers: [writer], others: Set(others.split(separator: ",").map(String.init)))
        for violation in history.violations { try Peer.say("\(violation)") }
        try Peer.say("end \(hexadecimal(history.end))")
    }

    /// Entries as text, equal for equal ones.
    static func hexadecimal(_ entries: [String: PropertyListValue]) throws -> String {
        try PropertyListValue.dictionary(entries).encoded(as: .binary).map { String($0, radix: 16) }.joined()
    }
}
