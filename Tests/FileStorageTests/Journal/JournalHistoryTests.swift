#if os(macOS) || os(Linux)
    import Foundation
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import ObservableStorage

    @Suite("Histories of processes with a journal", .timeLimit(.minutes(10)))
    struct JournalHistoryTests {
        /// A program that knows of the lock, and of no journal: it writes the list with a key of its own.
        private struct ForeignWriter {
            let list: ResolvedPath

            func write(_ number: Int) throws {
                let live = FileSystemCalls.live
                let lock = try live.openFile(list.lockFile, O_RDWR | O_CREAT, 0o600)
                defer { live.discard(lock) }
                try live.awaitLock(lock)
                defer { live.releaseLock(lock) }
                let file = URL(fileURLWithPath: list.path)
                var entries: [String: PropertyListValue] = [:]
                if let bytes = FileManager.default.contents(atPath: list.path),
                    case .dictionary(let found) = try PropertyListValue.decode(bytes).value
                {
                    entries = found
                }
                entries["foreign"] = History.Mark("foreign", number).value
                try PropertyListValue.dictionary(entries).encoded(as: .binary).write(to: file, options: .atomic)
            }
        }

        @Test(
            "Several processes with a journal, one with none, and a program that replaces the list have a consistent history",
            arguments: (0..<(isLong ? 20 : 1)).map { firstSeed + $0 }, [false, true])
        func severalProcesses(seed: UInt64, isForeign: Bool) async throws {
            let folder = try TemporaryFolder.inMemory()
            let list = ResolvedPath("settings.plist", in: folder.url.path)
            let file = folder.file("settings.plist")
            let store = try ObservableStore(
                at: file, configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), JournalMode(argument: "full")) })
            try await store.update { _ in }
            let witness = StoreWitness(store)
            let names = ["full1", "full2", "off"]
            let peers = try names.map { name in
                let others = names.filter { $0 != name } + ["own", "foreign"]
                return try RunningProgram(
                    "Peer", ["history", file.path, name, "\(seed)", "60", others.joined(separator: ","), name == "off" ? "off" : "full"])
            }
            for peer in peers { _ = try await peer.lines(count: 1) }
            for peer in peers { try peer.send("write") }
            var writer = RandomWriter("own", seed: seed, store: store)
            for number in 1...20 {
                try await writer.run(steps: 3)
                if isForeign { try ForeignWriter(list: list).write(number) }
            }
            try await store.flush()
            for peer in peers { try await peer.line { $0 == "written" } }
            for peer in peers { try peer.send("end") }
            try await store.update { _ in }
            try await store.close()
            let history = await witness.history(writers: [writer], others: Set(names + ["foreign"]))
            #expect(history.violations.map(\.description) == [], "seed \(seed)")
            let end = try PropertyListValue.dictionary(history.end).encoded(as: .binary)
            let text = "end \(end.map { String($0, radix: 16) }.joined())"
            for peer in peers {
                #expect(try await peer.status == 0)
                #expect(peer.lines.elements == ["ready", "written", text], "seed \(seed)")
                #expect(peer.errors.elements == [], "seed \(seed)")
            }
            // After the last one has closed it, the list has everything by itself.
            let alone = try PropertyListValue.decode(Data(contentsOf: file)).value
            #expect(alone == .dictionary(history.end), "seed \(seed)")
            #expect(history.end["foreign"] == (isForeign ? History.Mark("foreign", 20).value : nil))
        }
    }
#endif
