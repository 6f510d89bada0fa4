#if os(macOS) || os(Linux)
    import Foundation
    import PropertyListCoding
    @testable import ObservableStorage
    import TestSupport
    import Testing

    @Suite("Killed processes", .timeLimit(.minutes(60)))
    struct KilledProcessTests {
        /// Processes with the same file, of which one is killed in each round.
        struct Setup: Sendable, CustomStringConvertible {
            let journal: String
            var processes = 1
            let writers: Int
            let rounds: (short: Int, long: Int)

            var description: String { "\(journal), \(processes) x \(writers) writers" }
        }

        static let setups = [
            Setup(journal: "edits", writers: 1, rounds: (4, 1_000)),
            Setup(journal: "edits", writers: 4, rounds: (4, 1_000)),
            Setup(journal: "full", writers: 1, rounds: (3, 500)),
            Setup(journal: "full", writers: 4, rounds: (3, 500)),
            Setup(journal: "full", writers: 8, rounds: (3, 500)),
            Setup(journal: "full", processes: 3, writers: 2, rounds: (3, 500)),
        ]

        /// The last value of each writer, and what has failed.
        private func round(
            _ setup: Setup, at file: URL, _ lines: Int, _ lost: inout [String]
        ) async throws -> (last: [Int: Int], total: Int) {
            let programs = try (0..<setup.processes).map { process in
                try RunningProgram(
                    "Peer", ["sets-until-killed", file.path, "\(setup.writers)", setup.journal, "\(process * setup.writers)"])
            }
            for program in programs { _ = try await program.lines(count: lines) }
            programs[0].signal(SIGKILL)
            _ = try await programs[0].status
            for program in programs.dropFirst() {
                try program.send("end")
                #expect(try await program.status == 0)
            }
            var (last, total): ([Int: Int], Int) = ([:], 0)
            for program in programs {
                let lines = program.lines.elements
                total += lines.count
                for line in lines {
                    let parts = line.split(separator: " ")
                    if parts.count == 2, let writer = Int(parts[0]), let number = Int(parts[1]) {
                        last[writer] = number
                    } else if parts.first == "failed:" {
                        lost.append(line)
                    }
                }
                lost += program.errors.elements
            }
            return (last, total)
        }

        @Test("No edit that returned is lost when its process is killed", arguments: setups)
        func losesNothing(setup: Setup) async throws {
            let folder = try TemporaryFolder()
            let file = folder.file("settings.plist")
            let journal = ResolvedPath("settings.plist", in: folder.url.path).journal.path
            var generator = SeededGenerator(seed: UInt64(setup.writers))
            var lost: [String] = []
            var total = 0
            let rounds = isLong ? setup.rounds.long : setup.rounds.short
            for number in 0..<rounds {
                let (last, count) = try await round(setup, at: file, Int.random(in: 1...100, using: &generator), &lost)
                total += count
                let backend = PropertyListFile(at: file, journal: JournalMode(argument: setup.journal))
                _ = try backend.load()
                // Nobody else has changed anything.
                lost += backend.list.reports.kept.withLock { $0 }.map(\.description)
                let store = try ObservableStore(backend: backend)
                var values = store.entries
                check(last, in: values, killed: setup.writers, "round \(number)", &lost)
                try await store.close()
                // Now the list has everything by itself.
                if number.isMultiple(of: 2), setup.journal == "full" { try FileManager.default.removeItem(atPath: journal) }
                let alone = try PropertyListValue.decode(Data(contentsOf: file)).value
                if alone != .dictionary(values) { lost.append("round \(number): the list alone is different") }
                values = try PropertyListFile(at: file, access: .readOnly).load().values
                check(last, in: values, killed: setup.writers, "round \(number), afterwards", &lost)
            }
            #expect(lost.isEmpty)
            #expect(total >= rounds)
            // The last one killed may have left a file, which the next that writes the list removes.
            _ = try PropertyListFile(at: file, journal: JournalMode(argument: setup.journal)).editList { $0["end"] = 1 }
            let names = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
            #expect(names.filter { !$0.hasSuffix(".journal") } == [".settings.plist.lock", "settings.plist"])
            if isLong { print("\(setup): \(total) edits printed in \(rounds) rounds, lost: \(lost.count)") }
        }

        private func check(
            _ last: [Int: Int], in values: [String: PropertyListValue], killed: Int, _ place: String, _ lost: inout [String]
        ) {
            for (writer, number) in last {
                // One more may have returned without being printed.
                let possible = writer < killed ? [number, number + 1] : [number]
                let found = values["writer.\(writer)"]?.int ?? 0
                if !possible.contains(found) { lost.append("\(place): writer \(writer): \(found) instead of \(number)") }
                let text = values["text.\(writer)"]?.string ?? ""
                if !possible.map({ "text \($0)" }).contains(text) {
                    lost.append("\(place): writer \(writer): \(text) instead of \(number)")
                }
            }
        }
    }
#endif
