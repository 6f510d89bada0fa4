import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Writing a large list behind", .timeLimit(.minutes(10)))
struct WritePaceTests {
    private let folder: TemporaryFolder
    private let key = StorageKey("number", default: 0)

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A store of a list of some bytes that has just been written, so that the next write behind waits for half a minute.
    private func store(of size: Int, journal: JournalMode = .edits) async throws -> ObservableStore {
        let list = PropertyListValue.dictionary(["data": .data(Data(count: size)), "number": 0])
        try list.encoded(as: .binary).write(to: folder.file("list.plist"))
        let configuration = PropertyListFile.Configuration.with { ($0.writingShare, $0.journal) = (0, journal) }
        let store = try ObservableStore(at: folder.file("list.plist"), configuration: configuration)
        store[key] = 1
        try await store.flush()
        return store
    }

    /// The number in the file.
    private var written: PropertyListValue? {
        get throws {
            let (list, _) = try PropertyListValue.decode(Data(contentsOf: folder.file("list.plist")))
            guard case .dictionary(let entries) = list else { return nil }
            return entries["number"]
        }
    }

    @Test("An edit waits in the log after a write that took long")
    func waits() async throws {
        let store = try await store(of: 1 << 20)
        store[key] = 2
        await store.settle()
        await store.settle()
        #expect(try written == 1)
        #expect(store.durability == .immediate)
        try await store.close()
    }

    @Test("An edit that waits is written at once when the store is flushed, closed or edited by a transaction", arguments: 0..<3)
    func ends(_ number: Int) async throws {
        let store = try await store(of: 1 << 20)
        store[key] = 2
        await store.settle()
        switch number {
        case 0: try await store.flush()
        case 1: try await store.close()
        default: try await store.update { $0[StorageKey("other", default: 0)] = 1 }
        }
        #expect(try written == 2)
        if number != 1 { try await store.close() }
    }

    @Test("An edit that waits is written when the store is released")
    func release() async throws {
        let observer = try ObservableStore(at: folder.file("list.plist"), access: .readOnly)
        var store: ObservableStore? = try await store(of: 1 << 20)
        store?[key] = 2
        store = nil
        for await value in observer.values(of: key) where value == 2 { break }
    }

    @Test("A small list, and edits that are in no log, are written at once", arguments: [(1_000, JournalMode.edits), (1 << 20, .off)])
    func immediate(_ size: Int, _ journal: JournalMode) async throws {
        let store = try await store(of: size, journal: journal)
        let observer = try ObservableStore(at: folder.file("list.plist"), access: .readOnly)
        for number in 2..<5 {
            store[key] = number
            for await value in observer.values(of: key) where value == number { break }
        }
        try await store.close()
    }
}
