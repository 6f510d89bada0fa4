#if os(Linux)
    import Foundation
    import PropertyListCoding
    import TestSupport
    import Testing

    @testable import ObservableStorage

    private let readers: AccessControlEntries = "user::6 user:33:4 group::0 mask::4 other::0"
    private let writers: AccessControlEntries = "user::6 user:33:6 group::4 mask::6 other::0"

    /// Lists whose access control list grants some users access, and the files beside them.
    @Suite("Access by lists of users", .enabled(if: AccessControlEntries.areSupported), .timeLimit(.minutes(10)))
    struct SharedAccessTests {
        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        private func make(_ acl: AccessControlEntries?, permissions: mode_t = 0o640) throws -> String {
            let path = folder.path("list")
            try PropertyListValue.dictionary(["a": 1]).encoded(as: .binary).write(to: folder.file("list"))
            try #require(chmod(path, permissions) == 0)
            try acl?.set(on: path)
            return path
        }

        private func acl(_ name: String) throws -> AccessControlEntries? {
            try AccessControlEntries(of: folder.path(name))
        }

        private func backend(
            _ journal: JournalMode = .full(), inPlace: InPlaceWriting = .never, calls: FileSystemCalls = .live
        ) -> PropertyListFile {
            PropertyListFile(
                at: folder.file("list"), configuration: .with { ($0.journal, $0.inPlaceWriting) = (journal, inPlace) }, calls: calls)
        }

        private var journalInode: UInt64? {
            get throws { try FileIdentity(path: folder.path(".list.journal"))?.inode }
        }

        /// System calls of a user who may set neither owner nor group.
        private static var callsWithoutOwner: FileSystemCalls {
            var calls = FileSystemCalls.live
            calls.setOwner = { _, _, _ throws(SystemError) in throw SystemError(EPERM) }
            return calls
        }

        // MARK: Folders with a default list

        private func setDefault() throws {
            let list: AccessControlEntries = "user::7 user:33:7 group::7 mask::7 other::5"
            try list.set(on: folder.url.path, asDefault: true)
        }

        @Test("In a folder with a default list, neither a replaced list nor a file beside it grants more than the list did")
        func inherited() throws {
            let path = try make(nil, permissions: 0o660)
            try setDefault()
            _ = try backend().editList { $0["a"] = 2 }
            _ = try FileSystemCalls.live.write(Data("new".utf8), to: path)
            for name in ["list", ".list.journal", ".list.lock"] {
                #expect(try acl(name) == nil, "\(name)")
                #expect(try folder.status(name).permissions == 0o660, "\(name)")
            }
        }

        @Test("A new list in a folder with a default list inherits that, without access for others until its owner grants it")
        func new() throws {
            try setDefault()
            _ = try backend().editList { $0["a"] = 2 }
            for name in ["list", ".list.journal", ".list.lock"] {
                #expect(try acl(name) == "user::6 user:33:7 group::7 mask::0 other::0", "\(name)")
                #expect(try folder.status(name).permissions == 0o600, "\(name)")
            }
        }

        @Test("An inherited list that cannot be removed grants nobody access", arguments: [mode_t(0o660), 0o664])
        func kept(permissions: mode_t) throws {
            let path = try make(nil, permissions: permissions)
            try setDefault()
            let recorder = CallRecorder { _, name in name == "writeAccessControlList" ? EIO : nil }
            _ = try recorder.calls.write(Data("new".utf8), to: path)
            #expect(try folder.status("list").permissions == permissions & 0o707)
        }

        @Test("Two processes in a folder with a default list use one journal", arguments: [mode_t(0o600), 0o640])
        func journalStays(permissions: mode_t) throws {
            _ = try make(nil, permissions: permissions)
            try setDefault()
            let (first, second) = (backend(), backend(.off))
            try first.set(["a": 2])
            let inode = try journalInode
            for value in 3..<6 {
                try second.set(["a": .string("\(value)")])
                try first.set(["b": .string("\(value)")])
                #expect(try journalInode == inode)
            }
            #expect(try first.load().values == ["a": "5", "b": "5"])
        }

        // MARK: Other owners

        @Test("The owner of a list may use what a user makes who may write it by its access control list only", .enabled(if: isSuperuser))
        func owner() throws {
            let path = try make(writers)
            try #require(chown(path, 12_345, 54_321) == 0)
            try backend(calls: Self.callsWithoutOwner).set(["a": 2])
            #expect(try acl(".list.journal") == "user::6 user:33:6 user:12345:6 group::0 mask::6 other::0")
            #expect(try acl(".list.lock") == "user::6 user:33:6 user:12345:6 group::0 mask::6 other::0")
        }

        @Test(
            "The journal of another user counts if the list grants that user, or the journal's group, to write", .enabled(if: isSuperuser),
            arguments: [
                ("user::6 user:33:6 group::0 mask::6 other::0", 33, 33, true),
                ("user::6 user:33:6 group::0 mask::4 other::0", 33, 33, false),
                ("user::6 user:33:6 group::0 mask::6 other::0", 34, 33, false),
                // The mask has the bit, and the owning group has not.
                ("user::6 user:33:6 group::4 mask::6 other::0", 34, 54_321, false),
                ("user::6 user:33:4 group::6 mask::6 other::0", 34, 54_321, true),
                ("user::6 user:33:4 group::6 mask::6 other::0", 33, 54_321, false),
                ("user::6 group::0 group:35:6 mask::6 other::0", 34, 35, true),
                ("user::6 group::6 group:35:4 mask::6 other::6", 34, 35, false),
                ("user::6 group::6 group:35:6 mask::6 other::6", 34, 36, true),
            ] as [(AccessControlEntries, uid_t, gid_t, Bool)])
        func trusted(_ list: AccessControlEntries, user: uid_t, group: gid_t, isTrusted: Bool) throws {
            let path = try make(nil)
            try backend().set(["a": 2])
            try #require(chown(path, 0, 54_321) == 0 && chown(folder.path(".list.journal"), user, group) == 0)
            try list.set(on: path)
            let reader = PropertyListFile(at: folder.file("list"), access: .readOnly)
            #expect(try reader.load().values == ["a": isTrusted ? 2 : 1])
            #expect(reader.told.isEmpty == isTrusted)
        }

        @Test("In a folder with an access control list, the group of a journal does not show who made it", .enabled(if: isSuperuser))
        func folderOfOthers() throws {
            let path = try make("user::6 user:33:4 group::6 mask::6 other::0")
            try backend().set(["a": 2])
            try #require(chown(path, 0, 54_321) == 0 && chown(folder.path(".list.journal"), 34, 54_321) == 0)
            let list: AccessControlEntries = "user::7 user:34:7 group::5 mask::7 other::0"
            try list.set(on: folder.url.path)
            #expect(try PropertyListFile(at: folder.file("list"), access: .readOnly).load().values == ["a": 1])
        }

        // MARK: Changes and failures

        @Test("A lock file follows the access control list of its property list, once")
        func lockFollows() throws {
            let path = try make(writers)
            try FileLock.withLock(for: path, timeout: .zero) {}
            let changed: AccessControlEntries = "user::6 user:34:6 group::4 mask::6 other::0"
            try changed.set(on: path)
            try FileLock.withLock(for: path, timeout: .zero) {}
            #expect(try acl(".list.lock") == "user::6 user:34:6 group::0 mask::6 other::0")
            let inode = try folder.status(".list.lock").identity.inode
            try FileLock.withLock(for: path, timeout: .zero) {}
            #expect(try folder.status(".list.lock").identity.inode == inode)
        }

        @Test("Without a free descriptor, a journal stays, and a list is not replaced by one with less access", arguments: [nil, readers])
        func shortage(_ list: AccessControlEntries?) throws {
            let path = try make(list)
            let isShort = Lock(false)
            var calls = FileSystemCalls.live
            calls.openDescriptor = { file, flags, mode throws(SystemError) in
                // Only the list: other threads close their files meanwhile.
                if file.path == path, isShort.withLock({ $0 }) { throw SystemError(EMFILE) }
                return try FileSystemCalls.live.openDescriptor(file, flags, mode)
            }
            let (first, second) = (backend(calls: calls), backend(calls: calls))
            try first.set(["a": 2])
            try second.set(["a": 3])
            // Replaces the list.
            try second.checkpoint()
            let inode = try journalInode
            isShort.withLock { $0 = true }
            try first.set(["a": 4])
            #expect(try journalInode == inode)
            #expect(throws: StorageError.self) { try calls.write(Data("new".utf8), to: path) }
            isShort.withLock { $0 = false }
            #expect(try second.load().values == ["a": 4])
            #expect(try acl("list") == list && folder.status("list").permissions == 0o640)
        }

        @Test("The access control list of a file that others put in place of the list for a moment is not taken over")
        func exchanged() throws {
            let path = try make(writers)
            let planted = try ResolvedPath(folder.make("planted"))
            let list: AccessControlEntries = "user::6 user:34:6 group::6 mask::6 other::6"
            try list.set(on: planted.path)
            var calls = FileSystemCalls.live
            calls.openDescriptor = { file, flags, mode throws(SystemError) in
                // Not to read the content.
                let isExchanged = file.path == path && flags & (O_WRONLY | O_NOCTTY) == 0
                return try FileSystemCalls.live.openDescriptor(isExchanged ? planted : file, flags, mode)
            }
            try backend(calls: calls).set(["a": 2])
            _ = try calls.write(Data("new".utf8), to: path)
            for name in ["list", ".list.journal", ".list.lock"] {
                #expect(try acl(name) == nil, "\(name)")
                #expect(try folder.status(name).permissions == 0o600, "\(name)")
            }
        }

        @Test("A list is not written in place if its copy cannot have its access, so that it could not be restored from it")
        func copy() throws {
            let path = try make(readers)
            let before = try Data(contentsOf: folder.file("list"))
            var calls = FileSystemCalls.live
            calls.renameFile = { from, to throws(SystemError) in
                guard to.path != path else { throw SystemError(EBUSY) }
                try FileSystemCalls.live.renameFile(from, to)
            }
            calls.writeAccessControlList = { _, _ throws(SystemError) in throw SystemError(ENOTSUP) }
            let list = backend(.off, inPlace: .whenNecessary(), calls: calls)
            let error = #expect(throws: StorageError.self) { try list.edit { $0["a"] = 2 } }
            #expect(error?.description.contains("access control list") == true, "\(String(describing: error))")
            #expect(try Data(contentsOf: folder.file("list")) == before)
            #expect(try folder.names() == [".list.lock", "list"])
        }
    }
#endif
