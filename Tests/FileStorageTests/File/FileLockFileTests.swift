import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("The lock file", .timeLimit(.minutes(10))) struct FileLockFileTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func lock(_ name: String, calls: FileSystemCalls = .live) throws {
        try FileLock.withLock(for: folder.path(name), timeout: .zero, calls: calls) {}
    }

    private func unusable(_ name: String, _ reason: String, list: String = "list") -> StorageError {
        .unwritable(file: folder.path(list), reason: "its lock file \(folder.path(name)) cannot be used: \(reason)")
    }

    @Test(
        "Users who can write the property list can take its lock, and nobody else can",
        arguments: [(0o600, 0o600), (0o644, 0o600), (0o666, 0o666), (0o664, 0o660), (0o620, 0o660), (0o602, 0o606), (0o400, 0o600)])
    func permissions(list: mode_t, lock expected: mode_t) throws {
        try folder.make("list", permissions: list)
        try lock("list")
        #expect(try folder.status(".list.lock").permissions == expected)
    }

    @Test("The lock of a new property list is accessible to this user only, and so are the folders created for it")
    func new() throws {
        try lock("a/b/list")
        #expect(try folder.status("a").permissions == 0o700)
        #expect(try folder.status("a/b").permissions == 0o700)
        #expect(try folder.status("a/b/.list.lock").permissions == 0o600)
        #expect(try folder.names() == ["a"])
    }

    @Test("After others gain write access to a property list, they can take its lock")
    func widened() throws {
        try folder.make("list", permissions: 0o600)
        try lock("list")
        try #require(chmod(folder.path("list"), 0o660) == 0)
        try lock("list")
        #expect(try folder.status(".list.lock").permissions == 0o660)
    }

    @Test("The lock belongs to the owner and group of the property list", .enabled(if: isSuperuser))
    func owner() throws {
        try #require(chown(try folder.make("list", permissions: 0o660), 12_345, 54_321) == 0)
        try lock("list")
        let status = try folder.status(".list.lock")
        #expect((status.owner, status.group, status.permissions) == (12_345, 54_321, 0o660))
    }

    @Test("A lock file that may only be read can be taken", arguments: [EACCES, EPERM, EROFS])
    func readOnly(_ code: Int32) throws {
        try folder.make("list")
        try folder.make(".list.lock", "")
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            guard !path.path.hasSuffix(".lock") || flags & O_RDWR == 0 else { throw SystemError(code) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        try lock("list", calls: calls)
        #expect(try folder.text(".list.lock").isEmpty)
    }

    @Test("The lock file is next to the target of a link, so both paths share it")
    func links() throws {
        try folder.makeFolder("real")
        try folder.link("link", to: "real/list")
        try lock("link")
        #expect(try folder.status("real/.list.lock").kind == .file)
        try FileLock.withLock(for: folder.path("real/list"), timeout: .zero) { () throws in
            #expect(try folder.status("real/.list.lock").kind == .file)
            #expect(throws: StorageError.locked(file: folder.path("real/list"), waited: .zero)) { try lock("link") }
        }
    }

    @Test("Anything created in place of the lock file is not followed and does not block")
    func planted() throws {
        try folder.make("victim", "untouched")
        try folder.link(".a.lock", to: "victim")
        try folder.link(".b.lock", to: "nowhere")
        _ = try folder.makePipe(".c.lock")
        try folder.makeFolder(".d.lock")
        let kinds = ["a": "a symbolic link", "b": "a symbolic link", "c": "a named pipe", "d": "a folder"]
        for (name, kind) in kinds {
            let reason = "it is \(kind), not a file; remove it"
            #expect(throws: unusable(".\(name).lock", reason, list: name)) { try lock(name) }
        }
        #expect(try folder.names() == [".a.lock", ".b.lock", ".c.lock", ".d.lock", "victim"])
        #expect(try folder.text("victim") == "untouched")
    }

    @Test("A file created by others in place of the lock file is neither used nor modified")
    func plantedFile() throws {
        try folder.make("list", permissions: 0o622)
        try folder.make(".list.lock", "secret", permissions: 0o600)
        let reason = "it is not empty, so it may be another file that was moved there; move it away"
        #expect(throws: unusable(".list.lock", reason)) { try lock("list") }
        #expect(try folder.status(".list.lock").permissions == 0o600)
        #expect(try folder.text(".list.lock") == "secret")

        try folder.make(".list.lock", "", permissions: 0o600)
        try folder.makeFolder("other")
        try #require(link(folder.path(".list.lock"), folder.path("other/file")) == 0)
        let linked = "it has 2 names, so it may be another file that was linked there; remove it"
        #expect(throws: unusable(".list.lock", linked)) { try lock("list") }
        #expect(try folder.status("other/file").permissions == 0o600)
    }

    @Test("A lock file of a user without access to the property list is not used", .enabled(if: isSuperuser))
    func stranger() throws {
        try folder.make("list", permissions: 0o644)
        try folder.make(".list.lock", "", permissions: 0o666)
        try #require(chown(folder.path(".list.lock"), 12_345, 12_345) == 0)
        let reason = "it belongs to user 12345, who is not known to be allowed to write the property list; remove it"
        #expect(throws: unusable(".list.lock", reason)) { try lock("list") }
        // The owner of the folder or the list, or a user with write access to the list, could do worse than lock it.
        try #require(chown(folder.url.path, 12_345, 0) == 0)
        try lock("list")
        try #require(chown(folder.url.path, 0, 0) == 0 && chown(folder.path("list"), 12_345, 0) == 0)
        try lock("list")
        for (group, permissions) in [(gid_t(12_345), mode_t(0o660)), (0, 0o666)] {
            try folder.make(".list.lock", "", permissions: 0o666)
            try #require(chown(folder.path(".list.lock"), 12_345, 12_345) == 0)
            try #require(chown(folder.path("list"), 0, group) == 0 && chmod(folder.path("list"), permissions) == 0)
            try lock("list")
        }
        // In a folder that all may write, files of others may have got the group of the list from the folder.
        try folder.make(".list.lock", "", permissions: 0o666)
        try #require(chown(folder.path(".list.lock"), 12_345, 54_321) == 0 && chown(folder.path("list"), 0, 54_321) == 0)
        try #require(chmod(folder.path("list"), 0o664) == 0 && chmod(folder.url.path, 0o3777) == 0)
        #expect(throws: unusable(".list.lock", reason)) { try lock("list") }
    }

    @Test(
        "The owner and permissions of an existing file are never changed, whatever those of the list are", .enabled(if: isSuperuser))
    func neverChanged() throws {
        try folder.make("list", permissions: 0o622)
        try #require(chown(folder.path("list"), 12_345, 12_345) == 0 && chown(folder.url.path, 12_345, 12_345) == 0)
        try folder.make(".list.lock", "", permissions: 0o600)
        let planted = open(folder.path(".list.lock"), O_RDONLY | O_CLOEXEC)
        try #require(planted >= 0)
        defer { close(planted) }
        try lock("list")
        let status = try FileSystemCalls.live.status(of: planted)
        #expect((status.owner, status.group, status.permissions) == (0, 0, 0o600))
    }

    @Test("After a change of owner, group or permissions of the list, the lock file is replaced while both are held")
    func follows() throws {
        try folder.make("list", permissions: 0o600)
        try lock("list")
        let first = try folder.status(".list.lock").identity
        try #require(chmod(folder.path("list"), 0o660) == 0)
        try FileLock.withLock(for: folder.path("list"), timeout: .zero) { () throws in
            let second = try folder.status(".list.lock")
            #expect(!second.identity.isSameFile(as: first))
            #expect(second.permissions == 0o660)
            #expect(throws: StorageError.locked(file: folder.path("list"), waited: .zero)) { try lock("list") }
        }
        let second = try folder.status(".list.lock").identity
        try lock("list")
        #expect(try folder.status(".list.lock").identity.isSameFile(as: second))
        if isSuperuser {
            try #require(chown(folder.path("list"), 12_345, 54_321) == 0)
            try lock("list")
            let third = try folder.status(".list.lock")
            #expect((third.owner, third.group, third.permissions) == (12_345, 54_321, 0o660))
        }
        #expect(try folder.names() == [".list.lock", "list"])
    }

    @Test("A lock file that cannot be replaced is used as it is", arguments: ["open", "setPermissions", "rename"])
    func notRenewed(_ call: String) throws {
        try folder.make("list", permissions: 0o600)
        try lock("list")
        try #require(chmod(folder.path("list"), 0o660) == 0)
        let recorder = CallRecorder { [calls = Lock(0)] _, name in
            guard name == call else { return nil }
            // The first opened file is the lock file itself.
            return calls.withLock {
                $0 += 1
                return $0 > (call == "open" ? 1 : 0)
            } ? EPERM : nil
        }
        try lock("list", calls: recorder.calls)
        #expect(recorder.names.contains(call))
        #expect(recorder.openDescriptors.isEmpty)
        #expect(try folder.status(".list.lock").permissions == 0o600)
        #expect(try folder.names() == [".list.lock", "list"])
    }

    @Test("A file system without locks is an error that names the reason", arguments: [ENOLCK, ENOTSUP, EINVAL])
    func unsupported(_ code: Int32) throws {
        let recorder = CallRecorder { _, name in name == "lock" ? code : nil }
        #expect(throws: unusable(".list.lock", "its file system has no locks: \(SystemError(code).reason)")) {
            try lock("list", calls: recorder.calls)
        }
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A lock file that this user may not open is an error with the remedy, as after the permissions of the list were widened")
    func forbidden() throws {
        try folder.make("list", permissions: 0o666)
        try folder.make(".list.lock", "", permissions: 0o600)
        let reason = """
            \(SystemError(EACCES).reason); its permissions are no longer those of the property list: let user \(geteuid()) or the superuser \
            write the list once, which renews it, or remove it
            """
        let recorder = CallRecorder { _, name in name == "open" ? EACCES : nil }
        #expect(throws: unusable(".list.lock", reason)) { try lock("list", calls: recorder.calls) }
        // It is the same to a user who may not write the list.
        try #require(chmod(folder.path("list"), 0o444) == 0)
        let readOnly = StorageError.unwritable(file: folder.path("list"), reason: "is read-only for everyone (mode 0444)")
        #expect(throws: readOnly) { try lock("list", calls: recorder.calls) }
    }

    @Test("A folder without write access is an error that names the reason", arguments: [EACCES, EROFS])
    func readOnlyFolder(_ code: Int32) throws {
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            guard flags & O_CREAT == 0 else { throw SystemError(code) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let reason = SystemError(code).reason + (code == EACCES ? " (creating it, which needs a writable folder)" : "")
        #expect(throws: unusable(".list.lock", reason)) { try lock("list", calls: calls) }
    }

    @Test("Each failing call is an error that names the property list, and leaves the lock free", arguments: [true, false])
    func failures(isNew: Bool) throws {
        var failed: Set<String> = []
        for index in 0..<100 {
            let folder = try TemporaryFolder()
            let path = isNew ? folder.path("a/list") : try folder.make("list", permissions: 0o666)
            let recorder = CallRecorder { number, _ in number == index ? EIO : nil }
            var isDone = false
            do {
                try FileLock.withLock(for: path, timeout: .zero, calls: recorder.calls) { isDone = true }
                #expect(isDone)
            } catch let StorageError.unwritable(file, reason, _) {
                #expect(file == path)
                #expect(reason.contains(SystemError(EIO).reason))
                #expect(!isDone)
                failed.insert(recorder.names[index])
            }
            #expect(recorder.openDescriptors.isEmpty, "\(recorder.names)")
            // Where unlocking fails, a child that another test has just forked may hold it for a moment.
            #expect(try FileLock.withLock(for: path, timeout: .seconds(50)) { true })
            guard recorder.names.count > index else { break }
        }
        #expect(failed.isSuperset(of: ["open", "statusOfDescriptor", "statusOfPath", "lock"]))
        #expect(failed.contains("makeFolder") == isNew)
        #expect(failed.contains("setPermissions") == !isNew)
        #expect(!failed.contains("unlock"))
    }

    @Test("A lock file that was exchanged for another one before it was locked does not count: the other one is locked")
    func exchanged() throws {
        let (path, lockFile) = (try folder.make("list"), folder.path(".list.lock"))
        try lock("list")
        let isFirst = Lock(true)
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            try FileSystemCalls.live.lock(descriptor)
            guard isFirst.exchange(false) else { return }
            #expect(rename(lockFile, lockFile + ".old") == 0)
            #expect(FileManager.default.createFile(atPath: lockFile, contents: Data()))
        }
        try FileLock.withLock(for: path, timeout: .seconds(50), calls: calls) {
            #expect(!isFirst.withLock { $0 })
            #expect(throws: StorageError.self) { try lock("list") }
        }
    }

    @Test("A call interrupted by a signal is repeated", arguments: [true, false])
    func interrupted(isNew: Bool) throws {
        var index = 0
        while true {
            let folder = try TemporaryFolder()
            let path = isNew ? folder.path("a/list") : try folder.make("list", permissions: 0o666)
            let interrupted = index
            let recorder = CallRecorder { index, _ in index == interrupted ? EINTR : nil }
            #expect(try FileLock.withLock(for: path, timeout: .zero, calls: recorder.calls) { true })
            #expect(recorder.openDescriptors.isEmpty)
            guard recorder.names.count > index else { break }
            index += 1
        }
        #expect(index >= 10)
    }
}
