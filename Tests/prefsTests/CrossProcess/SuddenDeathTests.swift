import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// Processes that are killed during their work.
@Suite("Killed writers", .timeLimit(.minutes(10)))
struct SuddenDeathTests {
    private static let names = ["a", "b", "c"]

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("settings.plist")
    }

    private func files() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
    }

    /// The file as a new process would read it.
    private func stored() throws -> [String: Int] {
        try PropertyListFile(at: folder.file("settings.plist")).load().values.mapValues { try Int(propertyListValue: $0) }
    }

    /// The file after the edits of dead writers were made: reading alone does not wait for another process that is making them.
    private func settled() throws -> [String: Int] {
        try PropertyListFile(at: folder.file("settings.plist")).editReplaying().values.mapValues { try Int(propertyListValue: $0) }
    }

    private func writer(_ name: String) throws -> RunningProgram {
        try RunningProgram("Peer", ["transactions", path, name])
    }

    @Test("The file can always be opened, no number decreases, no edit reported as written is lost, and the others continue")
    func killed() async throws {
        let store = try ObservableStore(at: folder.file("settings.plist"))
        let backwards = Recorder<String>()
        let tokens = Self.names.map { name in
            store.addUpdateListener(for: StorageKey(name, default: 0)) { change in
                if change.newValue <= change.oldValue { backwards.record("\(name): \(change.oldValue) to \(change.newValue)") }
            }
        }
        var last: [String: Int] = [:]
        var writers: [String: RunningProgram] = [:]
        for name in Self.names { writers[name] = try writer(name) }
        for _ in 0..<(isLong ? 500 : 30) {
            let names = Self.names.shuffled()
            let (victim, witness) = (try #require(writers[names[0]]), try #require(writers[names[1]]))
            // At a random moment rather than an event, because the victim races with another writer and with readers.
            let said = witness.lines.elements.count
            _ = try await witness.lines(count: said + .random(in: 1...4))
            for _ in 0..<Int.random(in: 0..<20) { _ = try stored() }
            try await kill(victim, names[0], &last)
            writers[names[0]] = try writer(names[0])
        }
        for (name, writer) in writers { try await kill(writer, name, &last) }
        #expect(backwards.elements.isEmpty)
        withExtendedLifetime(tokens) {}
        try await store.close()
        #expect(try await tool("write", path, "end", "--int", "1").status == 0)
        let remaining = try files()
        #expect(remaining == [".settings.plist.lock", "settings.plist"])
        #expect(try stored() == last.merging(["end": 1]) { $1 })
    }

    /// Kills a writer, and compares its output with the content of the file.
    private func kill(_ writer: RunningProgram, _ name: String, _ last: inout [String: Int]) async throws {
        writer.signal(SIGKILL)
        #expect(try await writer.status == -SIGKILL)
        #expect(writer.errors.elements.isEmpty)
        let said = writer.lines.elements.compactMap { Int($0) }
        let first = last[name, default: 0] + 1
        #expect(said == Array(first..<(first + said.count)))
        let stored = try settled()[name, default: 0]
        // It may have died after setting or storing a number, and before printing it.
        let least = first - 1 + said.count
        #expect((least...least + 1).contains(stored), "\(name): \(stored)")
        last[name] = stored
    }

    @Test("A writer killed while writing the new file leaves the old one, and the next writer removes its temporary file")
    func duringWrite() async throws {
        try await #expect(session("open", "set small 1000", "flush") == ["done", "done", "done"])
        let dead = try await PeerSession(path).run(["open", "die"])
        #expect(dead.status == -SIGKILL)
        #expect(try files().count { $0.hasSuffix(".tmp") } == 1)
        try await #expect(session("open", "update small 1", "remove big", "flush", "stored") == ["done", "done", "done", "done", "small"])
        #expect(try files() == [".settings.plist.lock", "settings.plist"])
    }

    private func session(_ lines: String...) async throws -> [String] {
        try await PeerSession(path).answers(to: lines)
    }
}
