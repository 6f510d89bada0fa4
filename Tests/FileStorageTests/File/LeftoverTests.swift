import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Leftover temporary files", .timeLimit(.minutes(10))) struct LeftoverTests {
    // Larger than every process identifier.
    private static let deadProcess = pid_t.max

    @Test("Temporary files of processes that ended are removed, all other files are kept")
    func removal() throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let gone = [".list.\(Self.deadProcess)-1f.tmp", ".list.\(getpid())-abc.tmp"]
        let staying = [
            ".list.\(getppid())-1f.tmp", ".list.lock", ".list.\(Self.deadProcess)-1f", ".list.\(Self.deadProcess)-xyz.tmp",
            ".list.-5-1f.tmp",
            ".list.0-1f.tmp", ".list.tmp", ".list.backup-1.tmp", ".other.\(Self.deadProcess)-1f.tmp", "list",
            ".list.more.\(Self.deadProcess)-1f.tmp", "list.\(Self.deadProcess)-1f.tmp",
        ]
        for name in gone + staying {
            try folder.make(name)
        }
        try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(path))
        #expect(try folder.names() == staying.sorted())
    }

    @Test("A temporary file in use is kept, and checked again at the next write")
    func inUse() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("list")
        let leftover = ".list.\(getpid())-abc.tmp"
        try folder.make(leftover)
        let user = open(folder.path(leftover), O_RDONLY | O_CLOEXEC)
        #expect(flock(user, LOCK_EX) == 0)
        let file = PropertyListFile(at: URL(fileURLWithPath: path))
        _ = try file.edit { $0["a"] = 1 }
        #expect(try folder.names().contains(leftover))
        unlockAndClose(user)
        _ = try file.edit { $0["a"] = 2 }
        #expect(try !folder.names().contains(leftover))
    }

    @Test("A file that others put in the place of a leftover while that is examined is kept")
    func exchanged() throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let name = ".list.\(Self.deadProcess)-1f.tmp"
        try folder.make(name)
        try folder.make("other", "precious")
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            #expect(rename(folder.path("other"), folder.path(name)) == 0)
            try FileSystemCalls.live.lock(descriptor)
        }
        try calls.removeLeftovers(of: ResolvedPath(path))
        #expect(try folder.text(name) == "precious")
    }

    @Test("They are found next to the target of a link, and only links themselves are removed")
    func links() throws {
        let folder = try TemporaryFolder()
        try folder.makeFolder("real")
        try folder.make("real/list")
        let path = try folder.link("link", to: "real/list")
        try folder.link("real/.list.\(Self.deadProcess)-1.tmp", to: "list")
        try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(path))
        #expect(try folder.names() == ["link", "real"])
        #expect(try folder.text("real/list") == "old")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("real")) == ["list"])
    }

    @Test("Those of a list with a long name are found, but not those of another list with the same prefix")
    func longNames() throws {
        let folder = try TemporaryFolder()
        let start = String(repeating: "x", count: 254)
        let path = try folder.make(start + "1")
        try folder.make(ResolvedPath(start + "1", in: "/").temporaryFile(process: Self.deadProcess, random: 1).name)
        let other = ResolvedPath(start + "2", in: "/").temporaryFile(process: Self.deadProcess, random: 1).name
        try folder.make(other)
        try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(path))
        #expect(try folder.names() == [other, start + "1"])
    }

    @Test("A missing folder, or a file that cannot be removed, is not a failure")
    func failures() throws {
        let folder = try TemporaryFolder()
        try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(folder.path("none/list")))
        let name = ".list.\(Self.deadProcess)-1.tmp"
        try folder.makeFolder(name)
        try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(folder.path("list")))
        #expect(try folder.names() == [name])
    }
}
