#if os(Linux)
    import Foundation
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import ObservableStorage

    private let new = Data("new".utf8)
    private let readers: AccessControlEntries = "user::6 user:33:4 group::0 mask::4 other::0"
    private let writers: AccessControlEntries = "user::6 user:33:6 group::4 mask::6 other::0"

    @Suite("Access control lists", .enabled(if: AccessControlEntries.areSupported), .timeLimit(.minutes(10)))
    struct AccessControlListTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        private func make(_ acl: AccessControlEntries, _ name: String = "list") throws -> String {
            let path = folder.path(name)
            try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: folder.file(name))
            try acl.set(on: path)
            return path
        }

        private func acl(_ name: String) throws -> AccessControlEntries? {
            try AccessControlEntries(of: folder.path(name))
        }

        @Test(
            "A replaced file keeps its access control list, and its mode",
            arguments: [readers, writers, "user::6 group::6 group:9:7 mask::2 other::4"])
        func replaced(_ list: AccessControlEntries) throws {
            let path = try make(list)
            let permissions = try folder.status("list").permissions
            _ = try FileSystemCalls.live.write(new, to: path)
            #expect(try folder.text("list") == "new")
            #expect(try acl("list") == list)
            #expect(try folder.status("list").permissions == permissions)
        }

        @Test("A transaction of a store keeps the access control list, with and without a journal", arguments: [false, true])
        func store(hasJournal: Bool) async throws {
            let path = try make(readers)
            let store = try ObservableStore(at: URL(fileURLWithPath: path), journal: hasJournal ? .full() : .off)
            try await store.update { $0[StorageKey("a", default: 0)] = 2 }
            try await store.close()
            #expect(try PropertyListFile(at: folder.file("list")).load().values == ["a": 2])
            #expect(try acl("list") == readers)
        }

        @Test("A file that is written in place keeps its access control list, which its copy has as well")
        func inPlace() throws {
            let path = try make(readers)
            let found = Lock<AccessControlEntries?>(nil)
            let copy = try ResolvedPath(path).copy.path
            var calls = FileSystemCalls.live
            calls.renameFile = { from, to throws(SystemError) in
                guard to.path != path else { throw SystemError(EBUSY) }
                try FileSystemCalls.live.renameFile(from, to)
            }
            calls.removeFile = { removed throws(SystemError) in
                if removed.path == copy {
                    do { found.exchange(try AccessControlEntries(of: copy)) } catch { Issue.record(error) }
                }
                try FileSystemCalls.live.removeFile(removed)
            }
            let list = PropertyListFile(
                at: folder.file("list"), configuration: .with { $0.inPlaceWriting = .whenNecessary() }, calls: calls)
            _ = try list.edit { $0["a"] = 2 }
            #expect(try list.load().values == ["a": 2])
            #expect(try acl("list") == readers)
            #expect(found.withLock { $0 } == readers)
        }

        @Test(
            "If the list cannot be kept, no user gains access",
            arguments: [
                (readers, 0o600), (writers, 0o640), ("user::6 user:33:0 group::4 mask::4 other::4", 0o600),
                ("user::6 group::6 group:9:0 mask::4 other::4", 0o640), ("user::6 user:33:4 group::6 mask::6 other::6", 0o644),
            ] as [(AccessControlEntries, mode_t)], [EPERM, ENOTSUP, ENOSPC])
        func unkept(_ list: (AccessControlEntries, mode_t), code: Int32) throws {
            let path = try make(list.0)
            let recorder = CallRecorder { _, name in name == "writeAccessControlList" ? code : nil }
            _ = try recorder.calls.write(new, to: path)
            #expect(try folder.text("list") == "new")
            #expect(try acl("list") == nil)
            #expect(try folder.status("list").permissions == list.1)
        }

        @Test(
            "If it is not known whether there is a list, group and others get only what both have",
            arguments: ["readAccessControlList", "open"])
        func unread(_ call: String) throws {
            let open: AccessControlEntries = "user::6 user:33:4 group::4 mask::4 other::4"
            for (list, expected) in [(readers, mode_t(0o600)), (open, 0o644)] {
                let path = try make(list)
                let opened = Lock(0)
                var calls = FileSystemCalls.live
                if call == "open" {
                    calls.openDescriptor = { file, flags, mode throws(SystemError) in
                        if file.path == path, flags & O_WRONLY == 0 {
                            opened.withLock { $0 += 1 }
                            throw SystemError(EACCES)
                        }
                        return try FileSystemCalls.live.openDescriptor(file, flags, mode)
                    }
                } else {
                    calls.readAccessControlList = { _, _ throws(SystemError) in
                        opened.withLock { $0 += 1 }
                        throw SystemError(EIO)
                    }
                }
                _ = try calls.write(new, to: path)
                #expect(opened.withLock { $0 } == 1)
                #expect(try folder.status("list").permissions == expected)
                #expect(try acl("list") == nil)
            }
        }

        @Test("The temporary file never grants more than the old file")
        func temporary() throws {
            let list: AccessControlEntries = "user::6 user:33:0 group::0 mask::4 other::4"
            let path = try make(list)
            let modes = Lock<[mode_t]>([])
            let lists = Lock<[AccessControlEntries?]>([])
            var calls = FileSystemCalls.live
            calls.openDescriptor = { path, flags, mode throws(SystemError) in
                if flags & O_CREAT != 0 { modes.withLock { $0.append(mode) } }
                return try FileSystemCalls.live.openDescriptor(path, flags, mode)
            }
            calls.writeBytes = { descriptor, buffer throws(SystemError) in
                do {
                    let found = try AccessControlEntries(of: "/proc/self/fd/\(descriptor)")
                    lists.withLock { $0.append(found) }
                } catch {
                    Issue.record(error)
                }
                return try FileSystemCalls.live.writeBytes(descriptor, buffer)
            }
            _ = try calls.write(new, to: path)
            #expect(modes.withLock { $0 } == [0o600])
            #expect(lists.withLock { $0 } == [list])
        }

        @Test("If owner and group cannot be kept, the group gets what every user has; the owner and those in the list keep access")
        func otherGroup() throws {
            let path = try make("user::6 user:33:6 group::4 group:9:4 mask::6 other::4")
            try #require(chown(path, 12_345, 54_321) == 0)
            var calls = FileSystemCalls.live
            calls.setOwner = { _, _, _ throws(SystemError) in throw SystemError(EPERM) }
            _ = try calls.write(new, to: path)
            #expect(try acl("list") == "user::6 user:33:6 user:12345:6 group::4 group:9:4 mask::6 other::4")
            let denying: AccessControlEntries = "user::6 user:33:6 group::6 group:9:0 mask::6 other::4"
            try denying.set(on: path)
            try #require(chown(path, 12_345, 54_321) == 0)
            _ = try calls.write(new, to: path)
            #expect(try acl("list") == "user::6 user:33:6 user:12345:6 group::0 group:9:0 mask::6 other::0")
        }

        @Test("Each failing call leaves a file that grants no user more, or an error", arguments: [ENOSPC, EIO, EPERM])
        func eachCall(_ code: Int32) throws {
            var failed: Set<String> = []
            for index in 0..<200 {
                let path = try make(readers)
                let recorder = CallRecorder { number, _ in number == index ? code : nil }
                do {
                    _ = try recorder.calls.write(new, to: path)
                } catch {
                    failed.insert(recorder.names[index])
                }
                #expect(recorder.openDescriptors.isEmpty)
                let (found, mode) = (try acl("list"), try folder.status("list").permissions)
                #expect(found == readers ? mode == 0o640 : found == nil && mode == 0o600, "\(recorder.names)")
                guard recorder.names.count > index else { break }
            }
            #expect(failed.contains("rename"))
            #expect(failed.isDisjoint(with: ["readAccessControlList", "writeAccessControlList"]))
        }

        @Test("A file without a list costs two calls for each replacement")
        func without() throws {
            let path = try folder.make("list", permissions: 0o640)
            let recorder = CallRecorder()
            _ = try recorder.calls.write(new, to: path)
            #expect(recorder.names.count { $0 == "readAccessControlList" } == 2)
            #expect(!recorder.names.contains("writeAccessControlList"))
            #expect(try folder.status("list").permissions == 0o640)
        }

        @Test("Those who may write by the list may lock, and the owning group only if it may write")
        func lockFile() throws {
            let path = try make(writers)
            try FileLock.withLock(for: path, timeout: .zero) {}
            #expect(try acl(".list.lock") == "user::6 user:33:6 group::0 mask::6 other::0")
            let other = try make(readers, "other")
            try FileLock.withLock(for: other, timeout: .zero) {}
            #expect(try acl(".other.lock") == nil)
            #expect(try folder.status(".other.lock").permissions == 0o600)
            let third = try make(writers, "third")
            let recorder = CallRecorder { _, name in name == "writeAccessControlList" ? ENOSPC : nil }
            try FileLock.withLock(for: third, timeout: .zero, calls: recorder.calls) {}
            #expect(try folder.status(".third.lock").permissions == 0o600)
        }

        @Test("A journal has the list of its property list, and follows it at the next edit, once")
        func journal() throws {
            let path = try make(readers)
            func backend(_ journal: JournalMode = .full()) -> PropertyListFile {
                PropertyListFile(at: folder.file("list"), configuration: .with { $0.journal = journal })
            }
            let (first, second) = (backend(), backend(.off))
            try first.set(["a": 2])
            #expect(try acl(".list.journal") == readers)
            // The mode stays as it is.
            let changed: AccessControlEntries = "user::6 user:34:4 group::0 mask::4 other::0"
            try changed.set(on: path)
            try first.set(["a": 3])
            #expect(try acl(".list.journal") == changed)
            let inode = try folder.status(".list.journal").identity.inode
            try second.set(["a": 4])
            try first.set(["a": 5])
            #expect(try folder.status(".list.journal").identity.inode == inode)
            try readers.set(on: path)
            try second.set(["a": 6])
            #expect(try acl(".list.journal") == readers)
            #expect(try first.load().values == ["a": 6])
        }
    }
#endif
