#if os(macOS) || os(Linux)
    import Foundation
    @testable import ObservableStorage
    import TestSupport
    import Testing

    @Suite("Killed processes", .timeLimit(.minutes(30)))
    struct KilledProcessTests {
        private static let rounds = isLong ? 1_000 : 6

        @Test("No edit that returned is lost when its process is killed", arguments: [1, 4])
        func losesNothing(writers: Int) async throws {
            let folder = try TemporaryFolder()
            let file = folder.file("settings.plist")
            var generator = SeededGenerator(seed: UInt64(writers))
            var lost: [String] = []
            var total = 0
            for _ in 0..<Self.rounds {
                let program = try RunningProgram("Peer", ["sets-until-killed", file.path, "\(writers)"])
                _ = try await program.lines(count: Int.random(in: 1...100, using: &generator))
                program.signal(SIGKILL)
                _ = try await program.status
                let lines = program.lines.elements
                total += lines.count
                var last: [String: Int] = [:]
                for line in lines {
                    let parts = line.split(separator: " ")
                    if parts.count == 2, let number = Int(parts[1]) { last[String(parts[0])] = number }
                }
                let backend = PropertyListFile(at: file, journal: .edits)
                _ = try backend.load()
                // Nobody else has changed anything.
                lost += backend.unreported.withLock { $0 }.map(\.description)
                let store = try ObservableStore(backend: backend)
                for (writer, number) in last {
                    let found = store[StorageKey("writer.\(writer)", default: 0)]
                    // One more may have returned without being printed.
                    if found != number && found != number + 1 { lost.append("\(writer): \(found) instead of \(number)") }
                    let text = store[StorageKey("text.\(writer)", default: "")]
                    if text != "text \(number)" && text != "text \(number + 1)" { lost.append("\(writer): \(text) instead of \(number)") }
                }
                try await store.close()
            }
            #expect(lost.isEmpty)
            #expect(total >= Self.rounds)
            #expect(
                try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == [".settings.plist.lock", "settings.plist"])
            if isLong { print("\(writers) writers: \(total) edits printed in \(Self.rounds) rounds, lost: \(lost.count)") }
        }
    }
#endif
