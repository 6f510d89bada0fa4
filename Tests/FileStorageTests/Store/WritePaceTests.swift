import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Writing a large list behind", .timeLimit(.minutes(10)))
struct WritePaceTests {
    private let folder: TemporaryFolder
    private let key = StorageKey("number", default: 0)

    init() throws {
        folder = try TemporaryFolder()
    }

    private func makeList(of size: Int) throws {
        let list = PropertyListValue.dictionary(["data": .data(Data(count: size)), "number": 0])
        try list.encoded(as: .binary).write(to: folder.file("list.plist"))
    }

    /// A store of a list of some bytes that has just been written, so that the next write behind waits for half a minute.
    private func store(
        of size: Int, journal: JournalMode = .edits, calls: FileSystemCalls = .live
    ) async throws -> ObservableStore {
        try makeList(of: size)
        let configuration = PropertyListFile.Configuration.with { ($0.writingShare, $0.journal) = (0, journal) }
        let backend = PropertyListFile(at: folder.file("list.plist"), configuration: configuration, calls: calls)
        let store = try ObservableStore(backend: backend)
        store[key] = 1
        try await store.flush()
        return store
    }

    /// The store of the list that this process shares, which writes behind every half minute.
    private func sharedStore() throws -> ObservableStore {
        try ObservableStore.shared(at: folder.file("list.plist"), configuration: .with { $0.writingShare = 0 })
    }

    /// System calls with which a log of edits does not grow.
    private var callsWithoutGrowth: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.reserve = { descriptor, size throws(SystemError) in
            if size > 3 * EditLogFormat.smallestHalf { throw SystemError(ENOSPC) }
            try FileSystemCalls.live.reserve(descriptor, size)
        }
        return calls
    }

    /// Expects that a store writes now, instead of in half a minute, in which its queue could do a multiple of this.
    private func expectWrite(of number: PropertyListValue, by store: ObservableStore) async throws {
        for _ in 0..<100_000 where store.cache.update({ $0.entries.hasPending }) { await store.settle() }
        #expect(try written == number)
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

    @Test("Edits that wait in a log are written at once when a later one is refused by it")
    func refusal() async throws {
        let store = try await store(of: 1 << 20, calls: callsWithoutGrowth)
        store[key] = 2
        await store.settle()
        await store.settle()
        #expect(try written == 1)
        store[StorageKey("text", default: Data())] = Data(count: 1 << 18)
        try await expectWrite(of: 2, by: store)
        try await store.close()
    }

    @Test("Edits that wait in a log are written at once when it cannot be continued over what another process has changed")
    func refusalAfterOthers() async throws {
        let store = try await store(of: 1 << 20, calls: callsWithoutGrowth)
        let large = StorageKey("a", default: Data())
        store[key] = 2
        // One in each half of the log.
        for key in [large, StorageKey("b", default: Data())] { store[key] = Data(count: 50_000) }
        await store.settle()
        await store.settle()
        #expect(try written == 1 && store.durability == .immediate)
        let other = try ObservableStore(at: folder.file("list.plist"), journal: .off)
        other[large] = Data(count: 1)
        try await other.close()
        try await store.reload()
        try await expectWrite(of: 2, by: store)
        #expect(store[large].count == 50_000)
        try await store.close()
    }

    @Test("Edits that wait in a log are written at once when it is given up because of data protection")
    func protection() async throws {
        let classes = ProtectionClasses(usual: 3)
        let store = try await store(of: 1 << 20, calls: classes.calls)
        let registry = StoreRegistry()
        registry.add(store.synchronizer)
        store[key] = 2
        await store.settle()
        await store.settle()
        #expect(try written == 1 && store.durability == .immediate)
        let logs = folder.path(".list.plist.edits")
        for name in try FileManager.default.contentsOfDirectory(atPath: logs) { classes[logs + "/" + name] = 1 }
        LifeCycleObserver(registry: registry, activity: nil).handle(.protectedDataWillBecomeUnavailable)
        try await expectWrite(of: 2, by: store)
        try await store.close()
    }

    @Test("A shared store that nobody retains is not opened again, and keeps its pace, until it is closed")
    func shared() async throws {
        try makeList(of: 1 << 20)
        let observer = try ObservableStore(at: folder.file("list.plist"), access: .readOnly)
        try sharedStore()[key] = 1
        for await value in observer.values(of: key) where value == 1 { break }
        for number in 2..<5 {
            try sharedStore()[key] = number
            let store = try sharedStore()
            await store.settle()
            await store.settle()
            #expect(store[key] == number)
            #expect(try written == 1)
        }
        let store = try sharedStore()
        #expect(await store.synchronizer.retained === store)
        try await store.close()
        #expect(await store.synchronizer.retained == nil)
        #expect(try written == 4)
    }

    @Test("A shared store that nobody retains is released when its next write may begin", arguments: [1, 1 << 20])
    func sharedRelease(_ size: Int) async throws {
        try makeList(of: size)
        let failures = try {
            let store = try ObservableStore.shared(at: folder.file("list.plist"), configuration: .with { $0.writingShare = 0.5 })
            store[key] = 1
            return store.failures
        }()
        for await failure in failures { Issue.record(failure) }
        #expect(try written == 1)
    }
}
