import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// `OBSERVABLE_STORAGE_SEED` sets the seed; the outcome also depends on the scheduling of processes.
@Suite("Many writers in several processes", .timeLimit(.minutes(isLong ? 30 : 10)))
struct ProcessHistoryTests {
    @Test(
        "Several processes with one file each have a consistent history, and end with equal values",
        arguments: (0..<(isLong ? 20 : 1)).map { firstSeed + $0 })
    func severalProcesses(seed: UInt64) async throws {
        let storage = try Fixture.file.make()
        let path = try storage.backend.name
        let store = try storage.open()
        let witness = StoreWitness(store)
        let names = (0..<3).map { "peer\($0)" }
        let peers = try names.map { name in
            let others = names.filter { $0 != name } + ["own"]
            return try RunningProgram("Peer", ["history", path, name, "\(seed)", "60", others.joined(separator: ",")])
        }
        for peer in peers { _ = try await peer.lines(count: 1) }
        for peer in peers { try peer.send("write") }
        var writer = RandomWriter("own", seed: seed, store: store)
        try await writer.run(steps: 60)
        try await store.flush()
        for peer in peers { try await peer.line { $0 == "written" } }
        for peer in peers { try peer.send("end") }
        try await store.update { _ in }
        try await store.close()
        let history = await witness.history(writers: [writer], others: Set(names))
        let violations = history.violations
        #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(5).map(\.description).joined(separator: "\n"))")
        #expect(try storage.open().entries == history.end, "seed \(seed)")
        let end = try store.entries.hexadecimal
        for peer in peers {
            #expect(try await peer.status == 0)
            #expect(peer.lines.elements == ["ready", "written", "end \(end)"], "seed \(seed)")
            #expect(peer.errors.elements == [], "seed \(seed)")
        }
    }
}

extension [String: PropertyListValue] {
    /// The entries as text that is equal for equal entries.
    fileprivate var hexadecimal: String {
        get throws { try PropertyListValue.dictionary(self).encoded(as: .binary).map { String($0, radix: 16) }.joined() }
    }
}
