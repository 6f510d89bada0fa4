import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// The decisions of the watches of Apple's systems, with events that the test sends.
@Suite("Vnode watches: registration", .timeLimit(.minutes(10)))
struct VnodeRegistrationTests {
    private let folder: TemporaryFolder
    private let path: String
    private let system = FakeVnodes()
    private let events = Inbox<PathEvents>()

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("a/app.plist")
        try Disk.makeFolder(folder.path("a"))
    }

    /// A registration of the path, after its sources are registered.
    private func register(_ path: String? = nil) async throws -> any WatchRegistration {
        let registration = try system.service.register(path ?? self.path) { [events] in events.put($0) }
        for _ in Set(system.watched) { _ = await events.first { $0 == .rerouted } }
        return registration
    }

    /// The watched paths in the test's folder, and whether the folders above it are watched.
    private var watched: [String] {
        system.watched.filter { $0.hasPrefix(folder.url.path + "/") }.map { String($0.dropFirst(folder.url.path.count + 1)) }
    }

    /// The events that a kernel's event of a watched file or folder causes.
    private func events(_ kernel: FakeVnodes.Event, of path: String) async -> PathEvents? {
        system.send(kernel, to: path)
        return await events.first { _ in true }
    }

    @Test("Every folder of the path and the file are opened once, and closed once when watching ends")
    func opening() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        #expect(watched == ["a", "a/app.plist"])
        #expect(system.watched.contains("/"))
        #expect(Set(system.opened).count == system.opened.count)
        let opened = system.opened
        registration.cancel()
        registration.cancel()
        await allClosed()
        #expect(system.closed.sorted() == opened.sorted())
    }

    /// Waits until every file is closed: Dispatch does that after it has cancelled a source.
    private func allClosed() async {
        while !system.watched.isEmpty { await Task.yield() }
    }

    @Test("A write in place is reported without resolving the path; the removal of the file's name resolves it again")
    func eventsOfFile() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        for kernel in [.write, .extend, .attrib, [.write, .extend]] as [FakeVnodes.Event] {
            #expect(await events(kernel, of: path) == .modified)
        }
        for kernel in [.delete, .rename, .revoke, .link] as [FakeVnodes.Event] { #expect(await events(kernel, of: path) == .rerouted) }
        #expect(await events([.attrib, .link], of: path) == [.modified, .rerouted])
        registration.cancel()
    }

    @Test("A file that several paths need is opened once for all of them, and closed after the last one")
    func sharing() async throws {
        try Disk.write(path, "one")
        let (service, journal) = (system.service, folder.path("a/.app.plist.journal"))
        let (first, second) = (Inbox<PathEvents>(), Inbox<PathEvents>())
        let list = try service.register(path) { first.put($0) }
        let other = try service.register(journal) { second.put($0) }
        #expect(Set(system.opened).count == system.opened.count)
        #expect(watched == ["a", "a/app.plist"])
        // Each looks again after the watches have taken effect, whether they were its own or not.
        for events in [first, second] { #expect(await events.first { $0 == .rerouted } != nil) }
        _ = (try list.update(after: .rerouted), try other.update(after: .rerouted))
        system.send(.write, to: path)
        #expect(await first.first { $0 == .modified } != nil)
        try Disk.write(journal, "two")
        _ = (first.takeAll(), second.takeAll())
        system.send(.write, to: folder.path("a"))
        for events in [first, second] { #expect(await events.first { $0 == .rerouted } != nil) }
        #expect(try other.update(after: .rerouted) == .ready)
        #expect(watched == ["a", "a/.app.plist.journal", "a/app.plist"])
        list.cancel()
        await closed(1)
        #expect(system.closed == [path])
        other.cancel()
        await allClosed()
        #expect(system.closed.sorted() == system.opened.sorted())
    }

    @Test("A folder that another path needs for more events is watched for all of them, and each path has its own")
    func sharingOfRoles() async throws {
        try Disk.write(path, "one")
        let service = system.service
        let (first, second) = (Inbox<PathEvents>(), Inbox<PathEvents>())
        let deep = try service.register(path) { first.put($0) }
        for _ in Set(system.watched) { _ = await first.first { $0 == .rerouted } }
        let above = try service.register(folder.path("app.plist")) { second.put($0) }
        #expect(system.watched.filter { $0 == folder.url.path }.count <= 2)
        await closed(1)
        #expect(system.closed == [folder.url.path])
        // The path that only passes through the folder looks again, because it is watched anew.
        #expect(await first.first { $0 == .rerouted } != nil)
        _ = second.takeAll()
        system.send(.write, to: folder.url.path)
        #expect(await second.first { $0 == .rerouted } != nil)
        #expect(first.takeAll().isEmpty)
        system.send(.attrib, to: folder.url.path)
        for events in [first, second] { #expect(await events.first { $0 == .rerouted } != nil) }
        above.cancel()
        deep.cancel()
        await allClosed()
        #expect(system.closed.sorted() == system.opened.sorted())
    }

    @Test("A folder in which the last name is looked up reports changes of its names, one above it only its own")
    func eventsOfFolders() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        // Not requested from the kernel: other files come and go in the folders above.
        system.send([.write, .link, .extend], to: folder.url.path)
        for kernel in [.write, .link, .delete, .rename, .revoke, .attrib] as [FakeVnodes.Event] {
            #expect(await events(kernel, of: folder.path("a")) == .rerouted)
        }
        for kernel in [.delete, .rename, .revoke, .attrib] as [FakeVnodes.Event] {
            #expect(await events(kernel, of: folder.url.path) == .rerouted)
        }
        #expect(events.takeAll().isEmpty)
        registration.cancel()
    }

    @Test("A folder on the path in which a link or a missing name is looked up reports changes of its names")
    func directories() async throws {
        try Disk.makeFolder(folder.path("real"))
        try Disk.link(folder.path("link"), to: "real")
        let registration = try await register(folder.path("link/b/app.plist"))
        #expect(watched == ["real"])
        for path in [folder.url.path, folder.path("real")] { #expect(await events(.write, of: path) == .rerouted) }
        registration.cancel()
    }

    @Test("Resolving the path again opens nothing, and finds no change until the file has changed")
    func keptWatches() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        let opened = system.opened
        #expect(try registration.update(after: .rerouted) == .unchanged)
        try Disk.write(path, "longer")
        #expect(try registration.update(after: .rerouted) == .ready)
        #expect(try registration.update(after: .rerouted) == .unchanged)
        #expect(system.opened == opened)
        #expect(system.closed.isEmpty)
        try Disk.replace(path, "two")
        #expect(try registration.update(after: .rerouted) == .ready)
        #expect(system.opened == opened + [path])
        await closed(1)
        #expect(system.closed == [path])
        registration.cancel()
    }

    private func closed(_ count: Int) async {
        while system.closed.count < count { await Task.yield() }
    }

    @Test("The file is watched when it is created, an empty one is waited for, and a removed one is closed")
    func lifeOfFile() async throws {
        let registration = try await register()
        #expect(watched == ["a"])
        try Disk.write(path, "")
        #expect(try registration.update(after: .rerouted) == .empty)
        #expect(watched == ["a", "a/app.plist"])
        try Disk.remove(path)
        #expect(try registration.update(after: .rerouted) == .ready)
        await closed(1)
        #expect(watched == ["a"])
        registration.cancel()
    }

    @Test("A folder that is moved, removed or created again is watched in its new state")
    func lifeOfFolder() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        try Disk.move(folder.path("a"), folder.path("away"))
        #expect(try registration.update(after: .rerouted) == .ready)
        // The folder, in its former role, what was moved, and the file in it.
        await closed(3)
        #expect(watched == [])
        // The folder of a missing name reports new names from now on: it is watched in another role.
        #expect(await events(.write, of: folder.url.path) == .rerouted)
        try Disk.writeDeep(path, "two")
        #expect(try registration.update(after: .rerouted) == .ready)
        #expect(watched == ["a", "a/app.plist"])
        registration.cancel()
    }

    @Test("A file replaced after the path was resolved, and before or after it was opened, is found", arguments: [true, false])
    func race(isBeforeOpening: Bool) async throws {
        try Disk.write(path, "one")
        let path = path
        let races = Lock(1)
        let replace: @Sendable () throws -> Void = {
            let isDue = races.withLock { races in
                defer { races = 0 }
                return races == 1
            }
            if isDue { try Disk.replace(path, "two") }
        }
        if isBeforeOpening {
            system.willOpen { if $0 == path { try replace() } }
        } else {
            system.onSource { [system] _ in
                if system.watched.contains(path) { try? replace() }
            }
        }
        let registration = try await register()
        // What happened between opening and registration is found because the registration is reported.
        if !isBeforeOpening { #expect(try registration.update(after: .rerouted) == .ready) }
        #expect(system.opened.filter { $0 == path }.count == 2)
        #expect(try registration.update(after: .rerouted) == .unchanged)
        registration.cancel()
    }

    @Test("A folder that is missing when it is opened is looked up again, also if only another folder is looked up in it")
    func vanished() async throws {
        try Disk.write(path, "one")
        let above = folder.url.path
        let isFirst = Lock(true)
        system.willOpen { path in
            guard path == above else { return }
            let fails = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if fails { throw SystemError(ENOENT) }
        }
        let registration = try await register()
        #expect(system.watched.filter { $0 == above }.count == 1)
        registration.cancel()
    }

    @Test("A folder that may be searched but not read is not watched if it only leads to another folder; otherwise that is the reason")
    func forbidden() async throws {
        try Disk.writeDeep(folder.path("a/b/app.plist"), "one")
        let a = folder.path("a")
        system.willOpen { if $0 == a { throw SystemError(EACCES) } }
        let registration = try await register(folder.path("a/b/app.plist"))
        #expect(watched == ["a/b", "a/b/app.plist"])
        #expect(try registration.update(after: .rerouted) == .unchanged)
        registration.cancel()
        #expect {
            _ = try system.service.register(path) { _ in }
        } throws: { error in
            (error as? WatchError)?.path == a && (error as? WatchError)?.isForbidden == true
        }
    }

    @Test("A path that keeps changing while it is opened is given up after 64 attempts, and everything is closed")
    func restless() async throws {
        try Disk.write(path, "one")
        let path = path
        let count = Lock(0)
        system.willOpen {
            guard $0 == path else { return }
            count.withLock { $0 += 1 }
            try Disk.replace(path, "another")
        }
        #expect(throws: WatchError(reason: "the folders on its path keep changing")) { _ = try system.service.register(path) { _ in } }
        #expect(count.withLock { $0 } == 64)
        await allClosed()
        #expect(system.opened.sorted() == system.closed.sorted())
    }

    @Test("Nothing is reported after the end of watching, and a later update watches nothing")
    func end() async throws {
        try Disk.write(path, "one")
        let registration = try await register()
        registration.cancel()
        system.send(.write, to: path)
        _ = try registration.update(after: .rerouted)
        await allClosed()
        #expect(events.takeAll().isEmpty)
        #expect(system.opened.sorted() == system.closed.sorted())
    }

    @Test("A file system that other machines change cannot be watched")
    func remote() throws {
        system.setLocal(false)
        #expect {
            _ = try system.service.register(path) { _ in }
        } throws: { error in
            (error as? WatchError)?.reason.contains("is on a network file system") == true
        }
        #expect(system.opened.isEmpty)
    }

    @Test("A watcher polls while the watches of Apple's systems fail, and returns to them")
    func fallback() async throws {
        try Disk.write(path, "one")
        system.setLocal(false)
        let reports = Inbox<FileWatcher.Event>()
        let watcher = FileWatcher(
            path: path, queue: DispatchQueue(label: "test"),
            options: FileWatcherOptions(service: system.service, pollInterval: .milliseconds(5))
        ) { reports.put($0) }
        #expect(await reports.first { if case .fallback = $0 { true } else { false } } != nil)
        #expect(watcher.mechanism == .polling)
        system.setLocal(true)
        try Disk.replace(path, "longer")
        #expect(await reports.first { $0 == .recovered(.vnode) } != nil)
        #expect(watcher.mechanism == .vnode)
        watcher.cancel()
    }
}
