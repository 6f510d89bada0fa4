import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("FileIdentity", .timeLimit(.minutes(10))) struct FileIdentityTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("The same file in the same state has the same identity, by path, link and descriptor")
    func same() throws {
        let path = try folder.make("list")
        let file = try FileHandle(forReadingFrom: folder.file("list"))
        let identity = try FileIdentity(path: path)
        #expect(try FileIdentity(path: path) == identity)
        #expect(try FileIdentity(descriptor: file.fileDescriptor) == identity)
        #expect(try FileIdentity(path: folder.link("link", to: "list")) == identity)
        #expect(identity?.size == 3)
    }

    @Test("A change of content, size, timestamps, permissions or file changes the identity")
    func changes() throws {
        let path = try folder.make("list")
        var seen: Set<FileIdentity?> = [try FileIdentity(path: path)]
        let changes: [() throws -> Void] = [
            { try Data("longer".utf8).write(to: folder.file("list")) },
            { try #require(utimes(path, [timeval(tv_sec: 1, tv_usec: 2), timeval(tv_sec: 1, tv_usec: 2)]) == 0) },
            { try #require(chmod(path, 0o640) == 0) },
            { try #require(rename(try folder.make("other", "longer", permissions: 0o640), path) == 0) },
        ]
        for (index, change) in changes.enumerated() {
            try change()
            #expect(seen.insert(try FileIdentity(path: path)).inserted, "change \(index)")
        }
    }

    @Test("Timestamps have nanosecond precision")
    func nanoseconds() throws {
        let path = try folder.make("list")
        let times = [timespec(tv_sec: 1_700_000_000, tv_nsec: 123_456_789), timespec(tv_sec: 1_700_000_000, tv_nsec: 123_456_789)]
        try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
        #expect(try FileIdentity(path: path)?.modified == 1_700_000_000_123_456_789)
    }

    @Test("The status without times is otherwise that of the system: of files, folders, links and open files")
    func untimed() throws {
        let path = try folder.make("list", permissions: 0o640)
        try #require(link(path, folder.path("other")) == 0)
        try folder.link("link", to: "list")
        // The superuser's own numbers are 0, like those of a status that lacks them.
        if isSuperuser { try #require(chown(path, 12_345, 54_321) == 0) }
        let calls = FileSystemCalls.live
        let file = try FileHandle(forReadingFrom: folder.file("list"))
        let open = try calls.openFolder(of: ResolvedPath(splitting: path))
        defer { calls.discard(open) }
        func compare(_ found: FileStatus?, _ status: FileStatus?) throws {
            let (found, status) = (try #require(found), try #require(status))
            #expect(found.identity.isSameFile(as: status.identity) && found.identity.size == status.identity.size)
            #expect((found.identity.modified, found.identity.changed) == (0, 0))
            #expect((found.kind, found.links, found.isSticky) == (status.kind, status.links, status.isSticky))
            #expect(found.hasSameAccess(as: status))
        }
        for name in ["list", "link", "."] {
            let path = ResolvedPath(splitting: folder.path(name))
            try compare(try calls.untimedStatus(at: path), try calls.status(at: path))
            try compare(try calls.untimedStatus(open, name), try calls.status(at: path))
        }
        try compare(try calls.untimedStatus(of: file.fileDescriptor), try calls.status(of: file.fileDescriptor))
        try compare(try calls.untimedStatus(of: open), try calls.status(of: open))
        #expect(try calls.untimedStatus(at: ResolvedPath(splitting: folder.path("none"))) == nil)
        #expect(throws: SystemError(EBADF)) { try calls.untimedStatus(of: -1) }
    }

    @Test("A missing file has no identity")
    func missing() throws {
        try folder.make("list")
        #expect(try FileIdentity(path: folder.path("none")) == nil)
        #expect(try FileIdentity(path: folder.path("list/none")) == nil)
    }

    @Test("Any other failure is an error that names the path")
    func failure() throws {
        let path = folder.path(String(repeating: "x", count: 256))
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ENAMETOOLONG).reason)) { try FileIdentity(path: path) }
        #expect(throws: StorageError.unreadable(file: "descriptor -1", reason: SystemError(EBADF).reason)) {
            try FileIdentity(descriptor: -1)
        }
    }
}
