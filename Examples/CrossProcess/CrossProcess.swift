import Foundation
import ObservableStorage

nonisolated extension StorageKey<Int> {
    /// When the writer began to write, in nanoseconds of the clock that all processes share.
    static let writtenAt = StorageKey("writtenAt", default: 0)
    /// How many writes the reader has answered.
    static let answers = StorageKey("answers", default: 0)
}

/// Starts itself a second time as the writer, and prints each of its changes. Exits with 1 if one does not arrive.
@main
enum CrossProcess {
    static let writes = 5

    nonisolated static var now: Int { Int(DispatchTime.now().uptimeNanoseconds) }

    static func main() async throws {
        if CommandLine.arguments.count == 2 { return try await write(to: URL(filePath: CommandLine.arguments[1])) }
        let folder = FileManager.default.temporaryDirectory.appending(path: "CrossProcess-\(UUID())")
        let arrived = try await read(from: folder.appending(path: "shared.plist"))
        try FileManager.default.removeItem(at: folder)
        print("\(arrived) of \(writes) changes arrived")
        exit(arrived == writes ? 0 : 1)
    }

    /// The second process: writes, waits for the answer in the same file, and writes again.
    static func write(to file: URL) async throws {
        let store = try ObservableStore(at: file)
        for await answers in store.values(of: .answers) {
            if answers == writes { break }
            try await store.update { $0[.writtenAt] = now }
        }
    }

    static func read(from file: URL) async throws -> Int {
        let store = try ObservableStore(at: file)
        let changes = store.changes(of: .writtenAt)
        let writer = Process()
        writer.executableURL = Bundle.main.executableURL
        writer.arguments = [file.path]
        // The end of the writer, however it comes, closes the store, and that ends the loop.
        writer.terminationHandler = { _ in Task { try await store.close() } }
        try writer.run()
        DispatchQueue.global().asyncAfter(deadline: .now() + 10) { writer.terminate() }

        print("Process \(ProcessInfo.processInfo.processIdentifier) reads what process \(writer.processIdentifier) writes:")
        var arrived = 0
        for await change in changes {
            print("  change \(arrived + 1): \(change.origin), \((now - change.newValue) / 1000) µs after its writer began to write it")
            arrived += 1
            store[.answers] = arrived
        }
        return arrived
    }
}
