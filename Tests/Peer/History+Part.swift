import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

extension History {
    /// Participates in a history of several processes: writes and exits on request, and prints violated rules.
    static func take(
        part name: String, seed: String, steps: String, beside others: String, in path: String, journal: JournalMode
    ) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), lockTimeout: .seconds(500), journal: journal)
        let witness = StoreWitness(store)
        say("ready")
        _ = readLine()
        var writer = RandomWriter(name, seed: UInt64(seed) ?? 0, store: store)
        try await writer.run(steps: Int(steps) ?? 0)
        try await store.flush()
        say("written")
        _ = readLine()
        // A transaction begins with the entries stored by then.
        try await store.update { _ in }
        try await store.close()
        let history = await witness.history(writers: [writer], others: Set(others.split(separator: ",").map(String.init)))
        for violation in history.violations { say("\(violation)") }
        let end = try PropertyListValue.dictionary(history.end).encoded(as: .binary)
        say("end \(end.map { String($0, radix: 16) }.joined())")
    }

    private static func say(_ line: String) {
        FileHandle.standardOutput.write(Data("\(line)\n".utf8))
    }
}
