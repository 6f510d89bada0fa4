import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Side files and backups", .timeLimit(.minutes(10)))
struct BackupTests {
    private func fixture(_ excluded: Recorder<String>) throws -> (fixture: JournalFixture, calls: FileSystemCalls) {
        let names = Lock<[Int32: String]>([:])
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            let descriptor = try FileSystemCalls.live.openDescriptor(path, flags, mode)
            names.withLock { $0[descriptor] = path.path }
            return descriptor
        }
        calls.excludeFromBackups = { descriptor in
            excluded.record(names.withLock { $0[descriptor] } ?? "")
            FileSystemCalls.live.excludeFromBackups(descriptor)
        }
        return (try JournalFixture(["a": 1]), calls)
    }

    @Test("Logs and journals are left out of backups, and the list is not")
    func excluded() async throws {
        let excluded = Recorder<String>()
        let (fixture, calls) = try fixture(excluded)
        let store = try ObservableStore(backend: fixture.backend(calls: calls))
        store[StorageKey("a", default: 0)] = 2
        try await store.flush()
        let paths = excluded.elements
        #expect(paths.contains { $0.hasPrefix(fixture.list.editLogs.path + "/") })
        // The journal is renamed from a temporary file.
        #expect(paths.contains { $0.hasSuffix(".tmp") })
        #expect(paths.count == 2)
        try await store.close()
    }
}
