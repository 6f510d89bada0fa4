import Foundation
import ObservableStorage
import SQLiteBackend

extension StorageKey<Int> {
    static let count = StorageKey("count", default: 0)
}

/// Starts itself four times, and prints how the processes increment one number. Exits with 1 if an increment is lost.
///
/// With a path and a number, it is one of these processes.
@main
enum SQLiteDemo {
    static let (processes, increments) = (4, 25)

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3 { return try await increment(in: URL(filePath: arguments[1]), times: Int(arguments[2]) ?? 0) }
        let folder = FileManager.default.temporaryDirectory.appending(path: "SQLiteDemo-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        let count = try await run(folder.appending(path: "settings.db"))
        try FileManager.default.removeItem(at: folder)
        exit(count == processes * increments ? 0 : 1)
    }

    static func increment(in file: URL, times: Int) async throws {
        let store = try ObservableStore(backend: SQLiteBackend(at: file))
        for _ in 0..<times { try await store.update { $0[.count] += 1 } }
        try await store.close()
    }

    static func run(_ file: URL) async throws -> Int {
        let store = try ObservableStore(backend: SQLiteBackend(at: file))
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        for _ in 0..<processes {
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments = [file.path, "\(increments)"]
            process.terminationHandler = { _ in end.yield() }
            try process.run()
        }
        let observer = Task {
            for await count in store.values(of: .count) { print("the count is \(count)") }
        }
        for await _ in ends.prefix(processes) {}
        let count = try await store.update { $0[.count] }
        try await store.close()
        await observer.value
        return count
    }
}
