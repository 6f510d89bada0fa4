import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Logs and data protection", .timeLimit(.minutes(10)))
struct ProtectedLogTests {
    private let key = StorageKey("k", default: 0)
    private let fixture: EditLogFixture

    init() throws {
        fixture = try EditLogFixture()
    }

    private func backend(_ calls: FileSystemCalls, _ protection: FileProtection? = nil) -> PropertyListFile {
        PropertyListFile(at: fixture.file, configuration: .with { $0.protection = protection }, calls: calls)
    }

    private func makeList() throws {
        try PropertyListValue.dictionary(["k": 0]).encoded(as: .binary).write(to: fixture.file)
    }

    /// Whether the store tells that it has no log because of data protection.
    private func isRefused(_ store: ObservableStore) -> Bool {
        guard case .flushed(reason: .unwritable(_, let reason, _)?) = store.durability else { return false }
        return reason.contains("data protection")
    }

    /// Who has set a class that takes pages away.
    enum Setter: CaseIterable {
        case parameter, list, listWhenInactive, application
    }

    @Test("No log is mapped whose pages would be taken away while the device is locked, whoever has set that", arguments: Setter.allCases)
    func complete(setter: Setter) async throws {
        let classes = ProtectionClasses(usual: setter == .application ? 1 : 3)
        if setter == .list || setter == .listWhenInactive {
            try makeList()
            classes[fixture.file.path] = setter == .list ? 1 : 7
        }
        let store = try ObservableStore(backend: backend(classes.calls, setter == .parameter ? .complete : nil))
        #expect(isRefused(store))
        try store.set(1, for: key)
        #expect(isRefused(store) && fixture.logNames.isEmpty)
        #expect(classes.mappings.withLock { $0.isEmpty })
        try await store.flush()
        #expect(isRefused(store))
        try await store.close()
        #expect(try fixture.stored() == ["k": 1])
    }

    @Test("A log has the protection of its list, or that which is chosen for a new one", arguments: [2, 3, 4] as [Int32])
    func classOfList(number: Int32) async throws {
        for isNew in [true, false] {
            let fixture = try EditLogFixture()
            let classes = ProtectionClasses(usual: 1)
            if !isNew {
                try PropertyListValue.dictionary(["k": 0]).encoded(as: .binary).write(to: fixture.file)
                classes[fixture.file.path] = number
            }
            let chosen = FileProtection.allCases.first { $0.number == number }
            let store = try ObservableStore(
                backend: PropertyListFile(
                    at: fixture.file, configuration: .with { $0.protection = isNew ? chosen : nil }, calls: classes.calls))
            #expect(store.durability == .immediate)
            try store.set(1, for: key)
            let log = try #require(fixture.logNames.first)
            #expect(classes[fixture.logs + "/" + log] == number)
            #expect(store.durability == .immediate)
            try await store.close()
        }
    }

    @Test("A file system without protection has logs, whatever is chosen for new lists")
    func withoutProtection() async throws {
        let store = try ObservableStore(backend: backend(ProtectionClasses().calls, .complete))
        #expect(store.durability == .immediate)
        try store.set(1, for: key)
        #expect(fixture.logNames.count == 1)
        try await store.close()
    }

    @Test(
        "A log is given up by the next commit after it or its list got complete protection, and its pages are not used for that",
        arguments: ["log", "list"])
    func changedClass(file: String) async throws {
        try makeList()
        let classes = ProtectionClasses(usual: 3)
        let store = try ObservableStore(backend: backend(classes.calls))
        try store.set(1, for: key)
        try await store.flush()
        #expect(store.durability == .immediate)
        let log = fixture.logs + "/" + (try #require(fixture.logNames.first))
        classes[file == "log" ? log : fixture.file.path] = 1
        // A store's queue that is busy does not write the edit before the pages are taken away.
        try await store.isolated { _ in
            try store.set(2, for: key)
            classes.takePagesAway()
        }
        try await store.flush()
        #expect(isRefused(store) && fixture.logNames.isEmpty)
        #expect(classes.mappings.withLock { $0.isEmpty })
        try store.set(3, for: key)
        try await store.close()
        #expect(try fixture.stored() == ["k": 3])
    }

    @Test("Before the device is locked, the stores give up logs that got complete protection, and keep the others")
    func locking() async throws {
        let classes = ProtectionClasses(usual: 3)
        let stores = try ["a", "b"].map { name in
            try ObservableStore(
                backend: PropertyListFile(at: fixture.folder.file(name), calls: classes.calls))
        }
        let registry = StoreRegistry()
        for store in stores {
            try store.set(1, for: key)
            try await store.flush()
            registry.add(store.synchronizer)
        }
        let logs = fixture.folder.path(".a.edits")
        for name in try FileManager.default.contentsOfDirectory(atPath: logs) { classes[logs + "/" + name] = 1 }
        LifeCycleObserver(registry: registry, activity: nil).handle(.protectedDataWillBecomeUnavailable)
        #expect(isRefused(stores[0]) && stores[1].durability == .immediate)
        #expect(classes.mappings.withLock { $0.count } == 1)
        for store in stores {
            try store.set(2, for: key)
            try await store.close()
        }
    }

    @Test("While the list cannot be opened because the device is locked, edits are kept in memory, and logged again afterwards")
    func locked() async throws {
        try makeList()
        let isLocked = Lock(false)
        var calls = ProtectionClasses(usual: 3).calls
        calls.openDescriptor = { [path = fixture.file.path] file, flags, mode throws(SystemError) in
            if file.path == path, isLocked.withLock({ $0 }) { throw SystemError(EPERM) }
            return try FileSystemCalls.live.openDescriptor(file, flags, mode)
        }
        let store = try ObservableStore(backend: backend(calls))
        isLocked.withLock { $0 = true }
        try store.set(1, for: key)
        guard case .flushed(reason: .unwritable?) = store.durability else {
            Issue.record("\(store.durability)")
            return
        }
        #expect(fixture.logNames.isEmpty)
        isLocked.withLock { $0 = false }
        try await store.flush()
        try store.set(2, for: key)
        #expect(store.durability == .immediate)
        #expect(fixture.logNames.count == 1)
        try await store.close()
    }

    @Test("A link that leads where a suspended process may not hold a lock makes no log there")
    func linkOutOfContainer() async throws {
        let elsewhere = try TemporaryFolder()
        var calls = FileSystemCalls.live
        let home = fixture.folder.url.path + "/Containers/Data/Application"
        try FileManager.default.createDirectory(atPath: home + "/x", withIntermediateDirectories: true)
        calls.rules = SystemRules(.iOS, home: home + "/x", isSandboxed: true)
        let link = URL(fileURLWithPath: home + "/x/settings.plist")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: elsewhere.file("settings.plist"))
        let file = PropertyListFile(at: link, calls: calls)
        #expect(!file.isOutsideContainer)
        let store = try ObservableStore(backend: file)
        try store.set(1, for: key)
        guard case .flushed(reason: .unwritable?) = store.durability else {
            Issue.record("\(store.durability)")
            return
        }
        try await store.close()
    }
}
