import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// A store that executes the lines of standard input, and answers each with one line.
struct Session {
    let path: String

    private struct UnknownRequest: Error {}

    func run() async {
        var store: ObservableStore?
        while let line = readLine() {
            let words = line.split(separator: " ").map(String.init)
            do {
                try Peer.say(try await answer(words, &store))
            } catch {
                print("failed: \(error)")
                fflush(nil)
            }
        }
    }

    private func answer(_ words: [String], _ store: inout ObservableStore?) async throws -> String {
        let file = URL(fileURLWithPath: path)
        switch (words.first, store) {
        case ("open", _): store = try ObservableStore(at: file)
        case ("open-quarantining", _): store = try ObservableStore(at: file, configuration: .with { $0.onCorruption = .quarantine })
        case ("open-journaling", _): store = try ObservableStore(at: file, journal: .full())
        case ("open-in-place", _): store = try ObservableStore(at: file, configuration: .with { $0.inPlaceWriting = .whenNecessary() })
        case ("set", let store?): try store.set(Self.data(words[2]), for: StorageKey(words[1], default: Data()))
        case ("update", let store?):
            let data = Self.data(words[2])
            try await store.update { try $0.set(data, for: StorageKey(words[1], default: Data())) }
        case ("remove", let store?): store.remove(StorageKey(words[1], default: Data()))
        case ("flush", let store?): try await store.flush()
        case ("close", let store?): try await store.close()
        case ("die", let store?): try await dieWriting(store)
        case ("keys", let store?): return Self.list(store.entries.keys)
        case ("stored", _): return try Self.list(PropertyListFile(at: file).load().values.keys)
        case ("files", _): return try Self.list(FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path))
        default: throw UnknownRequest()
        }
        return "done"
    }

    /// Kills the process, as a crash would, while it writes a temporary file.
    private func dieWriting(_ store: ObservableStore) async throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        Thread.detachNewThread {
            while true {
                do {
                    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
                    if names.contains(where: { $0.hasSuffix(".tmp") }) { kill(getpid(), SIGKILL) }
                } catch {
                    exit(1)
                }
            }
        }
        // If a file is gone before it is found, there is another one.
        for size in 10_000_000... { try await store.update { try $0.set(Self.data("\(size)"), for: StorageKey("big", default: Data())) } }
    }

    private static func data(_ size: String) -> Data {
        Data(repeating: 7, count: Int(size) ?? 0)
    }

    private static func list(_ names: some Sequence<String>) -> String {
        names.sorted().joined(separator: " ")
    }
}
