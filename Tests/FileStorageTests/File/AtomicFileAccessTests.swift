import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private let new = Data("new".utf8)

@Suite("Owner and permissions of a written file", .timeLimit(.minutes(10))) struct AtomicFileAccessTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// The system calls with a simulated umask, because a real one applies to the whole process.
    private func calls(umask: mode_t) -> FileSystemCalls {
        let live = FileSystemCalls.live
        var calls = live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            let descriptor = try live.openDescriptor(path, flags, mode)
            if flags & O_CREAT != 0 {
                try live.setPermissions(descriptor, mode & ~umask)
            }
            return descriptor
        }
        calls.makeFolder = { path, permissions throws(SystemError) in
            try live.makeFolder(path, permissions)
            try live.setPermissionsOfPath(path, permissions & ~umask)
        }
        return calls
    }

    @Test(
        "A new file and its new folders are accessible to this user only, whatever the umask", arguments: [0, 0o022, 0o077, 0o277, 0o777])
    func newFile(umask: mode_t) throws {
        _ = try calls(umask: umask).write(new, to: folder.path("a/b/list"))
        #expect(try folder.status("a").permissions == 0o700)
        #expect(try folder.status("a/b").permissions == 0o700)
        #expect(try folder.status("a/b/list").permissions == 0o600)
        #expect(try folder.text("a/b/list") == "new")
    }

    @Test("A link that replaces a new folder does not change the permissions of its target")
    func exchangedFolder() throws {
        try folder.makeFolder("victim")
        try #require(chmod(folder.path("victim"), 0o755) == 0)
        var calls = calls(umask: 0o277)
        let set = calls.setPermissionsOfPath
        let (made, victim) = (folder.path("a"), folder.path("victim"))
        calls.setPermissionsOfPath = { path, permissions throws(SystemError) in
            if path.path == made, permissions == 0o700 {
                guard rmdir(made) == 0, symlink(victim, made) == 0 else { throw SystemError(errno) }
            }
            try set(path, permissions)
        }
        #expect(throws: StorageError.self) { try calls.write(new, to: folder.path("a/list")) }
        #expect(try folder.status("victim").permissions == 0o755)
    }

    @Test("The permissions of the old file are preserved, whatever the umask", arguments: [0o666, 0o644, 0o640, 0o604, 0o200, 0o777])
    func oldPermissions(_ permissions: mode_t) throws {
        let path = try folder.make("list", permissions: permissions)
        for umask: mode_t in [0o022, 0o777] {
            _ = try calls(umask: umask).write(new, to: path)
            #expect(try folder.status("list").permissions == permissions)
        }
    }

    @Test(
        "Until a new file has its owner and group, only this user has access, unless everybody may read it",
        arguments: [(0o644, 0o644), (0o666, 0o644), (0o600, 0o600), (0o640, 0o600), (0o604, 0o600), (0o660, 0o600)])
    func firstPermissions(_ permissions: mode_t, _ first: mode_t) throws {
        let path = try folder.make("list", permissions: permissions)
        let live = FileSystemCalls.live
        let modes = Lock<[mode_t]>([])
        var calls = live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if flags & O_CREAT != 0 { modes.withLock { $0.append(mode) } }
            return try live.openDescriptor(path, flags, mode)
        }
        _ = try calls.write(new, to: path)
        #expect(modes.withLock { $0 } == [first])
        #expect(try folder.status("list").permissions == permissions)
    }

    @Test("A set-user-ID bit is not preserved")
    func setUserID() throws {
        let path = try folder.make("list", permissions: 0o4755)
        _ = try FileSystemCalls.live.write(new, to: path)
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o755)
    }

    @Test("The permissions of an existing folder are not changed")
    func oldFolder() throws {
        try folder.makeFolder("a")
        try #require(chmod(folder.path("a"), 0o755) == 0)
        _ = try FileSystemCalls.live.write(new, to: folder.path("a/list"))
        #expect(try folder.status("a").permissions == 0o755)
    }

    @Test("The superuser preserves the owner and group of the old file", .enabled(if: isSuperuser))
    func oldOwner() throws {
        let path = try folder.make("list", permissions: 0o640)
        try #require(chown(path, 12_345, 54_321) == 0)
        _ = try FileSystemCalls.live.write(new, to: path)
        let status = try folder.status("list")
        #expect((status.owner, status.group, status.permissions) == (12_345, 54_321, 0o640))
    }

    @Test("A user who cannot change the owner preserves group and permissions", .enabled(if: isSuperuser))
    func groupAlone() throws {
        let path = try folder.make("list", permissions: 0o640)
        try #require(chown(path, 12_345, 54_321) == 0)
        var calls = FileSystemCalls.live
        calls.setOwner = { descriptor, owner, group throws(SystemError) in
            guard owner == .max else { throw SystemError(EPERM) }
            try FileSystemCalls.live.setOwner(descriptor, owner, group)
        }
        _ = try calls.write(new, to: path)
        let status = try folder.status("list")
        #expect((status.owner, status.group, status.permissions) == (geteuid(), 54_321, 0o640))
    }

    @Test(
        "If the group cannot be preserved, nobody gains access", .enabled(if: isSuperuser),
        arguments: [(0o640, 0o600), (0o664, 0o644), (0o604, 0o600), (0o666, 0o666), (0o662, 0o622), (0o600, 0o600)])
    func neither(old: mode_t, expected: mode_t) throws {
        let path = try folder.make("list", permissions: old)
        try #require(chown(path, 12_345, 54_321) == 0)
        var calls = FileSystemCalls.live
        calls.setOwner = { _, _, _ throws(SystemError) in throw SystemError(EPERM) }
        _ = try calls.write(new, to: path)
        let status = try folder.status("list")
        #expect((status.owner, status.group, status.permissions) == (geteuid(), getegid(), expected))
    }

    @Test("The new content is never readable by more users than the old, even before the rename")
    func whileWriting() throws {
        let path = try folder.make("list", permissions: 0o200)
        var calls = FileSystemCalls.live
        calls.writeBytes = { descriptor, buffer throws(SystemError) in
            #expect(try FileSystemCalls.live.statusOfDescriptor(descriptor).permissions == 0o200)
            return try FileSystemCalls.live.writeBytes(descriptor, buffer)
        }
        _ = try calls.write(new, to: path)
        #expect(try folder.text("list") == "new")
    }

    @Test("A file system without permissions can be written to")
    func noPermissions() throws {
        let path = try folder.make("list", permissions: 0o644)
        var calls = FileSystemCalls.live
        calls.setPermissions = { _, _ throws(SystemError) in throw SystemError(EPERM) }
        _ = try calls.write(new, to: path)
        #expect(try folder.text("list") == "new")
    }

    @Test("A file that nobody may write is not replaced, even by the superuser", arguments: [0o444, 0o400, 0o555])
    func readOnly(permissions: mode_t) throws {
        let path = try folder.make("list", permissions: permissions)
        let reason = "is read-only for everyone (mode 0\(String(permissions, radix: 8)))"
        #expect(throws: StorageError.unwritable(file: path, reason: reason)) { try FileSystemCalls.live.write(new, to: path) }
        #expect(throws: StorageError.self) { try FileSystemCalls.live.write(new, to: try folder.link("link", to: "list")) }
        #expect(try folder.text("list") == "old")
        #expect(try folder.names() == ["link", "list"])
        try #require(chmod(path, permissions | 0o200) == 0)
        _ = try FileSystemCalls.live.write(new, to: path)
        #expect(try folder.text("list") == "new")
    }

    @Test("A file that this user cannot write is not replaced", arguments: [EACCES, EPERM, EROFS])
    func notOurs(code: Int32) throws {
        let path = try folder.make("list", permissions: 0o644)
        let recorder = CallRecorder { _, name in name == "checkWriting" ? code : nil }
        let reason = "\(SystemError(code).reason) (the file may not be written)"
        #expect(throws: StorageError.unwritable(file: path, reason: reason)) { try recorder.calls.write(new, to: path) }
        #expect(try folder.text("list") == "old")
        #expect(try folder.names() == ["list"])
    }
}
