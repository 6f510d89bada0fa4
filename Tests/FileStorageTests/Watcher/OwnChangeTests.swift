#if os(Linux)
    import Dispatch
    import Foundation
    import Glibc
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// Changes that this process makes to a file that it watches.
    @Suite("Own changes of a watched file", .timeLimit(.minutes(10)))
    struct OwnChangeTests {
        let folder: TemporaryFolder
        let path: String

        init() throws {
            folder = try TemporaryFolder()
            path = folder.path("app.plist")
            try Disk.write(path, "one")
        }

        /// The events of a registered path, in their order.
        private func register(
            _ name: String = "app.plist", in hub: InotifyHub
        ) throws -> (InotifyRegistration, Inbox<PathEvents>) {
            let events = Inbox<PathEvents>()
            return (try hub.register(folder.path(name)) { events.put($0) }, events)
        }

        private func identity(_ path: String) throws -> FileIdentity {
            try #require(try FileSystemCalls.live.status(at: ResolvedPath(splitting: path))).identity
        }

        /// Renames a new file to a path, as a commit does.
        @discardableResult
        private func rename(_ content: String, to path: String) throws -> FileIdentity {
            let temporary = "\(path).\(content).tmp"
            try Disk.write(temporary, content)
            let identity = try identity(temporary)
            try Disk.move(temporary, path)
            return identity
        }

        /// The events until the file is removed, after everything else.
        private func eventsAtEnd(_ inbox: Inbox<PathEvents>) async throws -> [PathEvents] {
            try Disk.remove(path)
            var events: [PathEvents] = []
            while events.last?.contains(.removed) != true { events += [await inbox.first { _ in true }].compactMap(\.self) }
            return events
        }

        @Test("A replacement that a watcher makes itself is not reported to it, and the next one is")
        func replacement() async throws {
            let hub = InotifyHub(calls: .system)
            let (registration, inbox) = try register(in: hub)
            for number in 0..<10 {
                let isSilent = try registration.withoutEvents { try rename("\(number)", to: path) }
                #expect(isSilent)
            }
            try rename("other", to: path)
            #expect(try await eventsAtEnd(inbox).filter { $0 == .replaced }.count == 1)
            registration.cancel()
        }

        @Test("The file that a watcher has put in place itself is watched soon")
        func watchedReplacement() async throws {
            // As in a commit: the deletion of the replaced file would be an event.
            let replaced = open(path, O_RDONLY | O_CLOEXEC)
            defer { close(replaced) }
            let probe = try await WatchProbe(path)
            try probe.watcher.session.withoutEvents { try rename("two", to: path) }
            // The file is watched before it is looked at.
            #expect(await probe.sees("two"))
            try Disk.write(path, "three")
            #expect(await probe.sees("three"))
        }

        @Test("A write that a watcher makes itself is not reported to it, and the next one is")
        func write() async throws {
            let hub = InotifyHub(calls: .system)
            let (registration, inbox) = try register(in: hub)
            var descriptor = open(path, O_WRONLY | O_CLOEXEC)
            let resume = try #require(registration.pauseWrites())
            _ = Glibc.write(descriptor, "two", 3)
            resume()
            close(descriptor)
            #expect(await inbox.first { _ in true } == .closed)
            descriptor = open(path, O_WRONLY | O_CLOEXEC)
            _ = Glibc.write(descriptor, "three", 5)
            close(descriptor)
            #expect(await inbox.first { _ in true } == .modified)
            registration.cancel()
        }

        @Test("What another program does meanwhile to the file, or to other watched names, is reported")
        func meanwhile() async throws {
            let hub = InotifyHub(calls: .system)
            try Disk.write(folder.path("other"), "one")
            let (registration, inbox) = try register(in: hub)
            let (second, others) = try register("other", in: hub)
            let (third, missing) = try register("missing", in: hub)
            let isSilent = try registration.withoutEvents {
                let own = try rename("two", to: path)
                try rename("three", to: path)
                try rename("three", to: folder.path("other"))
                try rename("three", to: folder.path("missing"))
                return own
            }
            #expect(!isSilent)
            for inbox in [inbox, others, missing] { #expect(await inbox.first { $0 == .replaced } != nil) }
            for registration in [registration, second, third] { registration.cancel() }
        }

        @Test("A replacement that fails, or whose result is not known, is reported")
        func failure() async throws {
            let hub = InotifyHub(calls: .system)
            let (registration, inbox) = try register(in: hub)
            #expect(throws: CocoaError.self) {
                try registration.withoutEvents {
                    try rename("two", to: path)
                    throw CocoaError(.fileWriteUnknown)
                }
            }
            #expect(await inbox.first { $0 == .replaced } != nil)
            let isSilent = try registration.withoutEvents {
                try rename("three", to: path)
                return nil
            }
            #expect(!isSilent)
            #expect(await inbox.first { $0 == .replaced } != nil)
            registration.cancel()
        }

        @Test("Other watchers of the same file in this process are told of the change")
        func others() async throws {
            let hub = InotifyHub(calls: .system)
            let (registration, inbox) = try register(in: hub)
            let (second, others) = try register(in: hub)
            let isSilent = try registration.withoutEvents { try rename("two", to: path) }
            #expect(!isSilent)
            for inbox in [inbox, others] { #expect(await inbox.first { $0 == .replaced } != nil) }
            let descriptor = open(path, O_WRONLY | O_CLOEXEC)
            defer { close(descriptor) }
            _ = try [registration, second].map { try $0.update(after: .replaced) }
            #expect(registration.pauseWrites() == nil)
            _ = Glibc.write(descriptor, "three", 5)
            for inbox in [inbox, others] { #expect(await inbox.first { $0 == .modified } != nil) }
            for registration in [registration, second] { registration.cancel() }
        }

        @Test("A watcher of one name in a folder takes no events from one of another name there")
        func otherNames() async throws {
            let hub = InotifyHub(calls: .system)
            let (first, missing) = try register("missing", in: hub)
            // The folder is watched for fewer events because of a name that is there.
            let (second, _) = try register(in: hub)
            try Disk.write(folder.path("missing"), "one")
            try Disk.remove(folder.path("missing"))
            #expect(await missing.first { _ in true } == .created)
            for registration in [first, second] { registration.cancel() }
        }

        @Test("Everything is resolved again if the path leads to another folder meanwhile")
        func movedFolder() async throws {
            let hub = InotifyHub(calls: .system)
            try Disk.writeDeep(folder.path("a/app.plist"), "one")
            try Disk.writeDeep(folder.path("b/app.plist"), "other")
            let (registration, inbox) = try register("a/app.plist", in: hub)
            let (second, others) = try register("b/app.plist", in: hub)
            let isSilent = try registration.withoutEvents {
                let own = try rename("two", to: folder.path("a/app.plist"))
                try Disk.move(folder.path("a"), folder.path("c"))
                try Disk.move(folder.path("b"), folder.path("a"))
                return own
            }
            #expect(!isSilent)
            for (registration, inbox) in [(registration, inbox), (second, others)] {
                #expect(await inbox.first { $0 == .rerouted } != nil)
                _ = try registration.update(after: .rerouted)
            }
            try rename("three", to: folder.path("a/app.plist"))
            #expect(await inbox.first { $0 == .replaced } != nil)
            for registration in [registration, second] { registration.cancel() }
        }

        @Test(
            "Everything is resolved again if the path of a watch leads to another one, whose events are then lost",
            arguments: [false, true])
        func otherWatch(isLater: Bool) async throws {
            let isElsewhere = Lock(false)
            var calls = try FakeInotify().calls
            let watch = calls.watch
            calls.watch = { [folder] instance, path, mask in
                path == folder.url.path && isElsewhere.withLock { $0 } ? 99 : watch(instance, path, mask)
            }
            let (registration, inbox) = try register(in: InotifyHub(calls: calls))
            if !isLater { isElsewhere.withLock { $0 = true } }
            _ = try registration.withoutEvents {
                isElsewhere.withLock { $0 = true }
                return try rename("two", to: path)
            }
            #expect(await inbox.first { $0 == .rerouted } != nil)
            registration.cancel()
        }

        @Test("Of own and other replacements at the same time, the last other one is seen without a second look")
        func racing() async throws {
            let probe = try await WatchProbe(path, .withoutQuiet)
            for round in 0..<(isLong ? 20_000 : 500) {
                async let other = rename("other \(round)", to: path)
                probe.queue.sync {
                    do {
                        try probe.watcher.session.withoutEvents { try rename("own \(round)", to: path) }
                    } catch {
                        Issue.record(error)
                    }
                }
                _ = try await other
                if Disk.read(path) == "other \(round)" { #expect(await probe.sees("other \(round)")) }
            }
        }

        @Test("A folder reports changed times and permissions of the names in it only where that matters")
        func masks() throws {
            let masks = Lock<[String: UInt32]>([:])
            var calls = try FakeInotify().calls
            let watch = calls.watch
            calls.watch = { instance, path, mask in
                masks.withLock { masks in
                    let isAdded = mask & UInt32(IN_MASK_ADD) != 0
                    masks[path] = mask & ~UInt32(IN_MASK_ADD) | (isAdded ? masks[path] ?? 0 : 0)
                }
                return watch(instance, path, mask)
            }
            func reports(_ event: Int32, in path: String) -> Bool {
                masks.withLock { $0[path] ?? 0 } & UInt32(event) != 0
            }
            try Disk.makeFolder(folder.path("a"))
            let registration = try InotifyHub(calls: calls).register(folder.path("a/list")) { _ in }
            #expect(reports(IN_CREATE, in: folder.path("a")) && reports(IN_ATTRIB, in: folder.path("a")))
            #expect(!reports(IN_CREATE, in: folder.url.path) && reports(IN_ATTRIB, in: folder.url.path))
            try Disk.write(folder.path("a/list"), "one")
            _ = try registration.update(after: .created)
            #expect(!reports(IN_CREATE, in: folder.path("a")) && !reports(IN_ATTRIB, in: folder.path("a")))
            #expect(reports(IN_MOVED_TO, in: folder.path("a")))
            registration.cancel()
        }

        @Test("A folder reports its own permissions where the folder above may not be watched")
        func forbiddenFolder() throws {
            try Disk.writeDeep(folder.path("a/list"), "one")
            let masks = Lock<[String: UInt32]>([:])
            var calls = try FakeInotify().calls
            let watch = calls.watch
            calls.watch = { [folder] instance, path, mask in
                if path == folder.url.path { return -EACCES }
                masks.withLock { $0[path, default: 0] |= mask }
                return watch(instance, path, mask)
            }
            let registration = try InotifyHub(calls: calls).register(folder.path("a/list")) { _ in }
            #expect(masks.withLock { $0[folder.path("a")] ?? 0 } & UInt32(IN_ATTRIB) != 0)
            registration.cancel()
        }
    }
#endif
