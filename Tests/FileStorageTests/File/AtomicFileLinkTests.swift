import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Writing through symbolic links", .timeLimit(.minutes(10))) struct AtomicFileLinkTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try folder.makeFolder("real")
    }

    /// Writes to a name and checks that the file it leads to was written, and that each link is still a link.
    private func check(_ name: String, leadsTo target: String, links: [String]) throws {
        let identity = try FileSystemCalls.live.write(Data("new".utf8), to: folder.path(name))
        #expect(try folder.text(target) == "new")
        #expect(try folder.status(target).kind == .file)
        #expect(try folder.status(target).identity == identity)
        #expect(try ResolvedPath(folder.path(name)).path == folder.path(target))
        for link in links {
            #expect(try folder.status(link).kind == .link)
        }
    }

    @Test("A link is written through")
    func link() throws {
        try folder.make("real/list", permissions: 0o640)
        try folder.link("link", to: folder.path("real/list"))
        try check("link", leadsTo: "real/list", links: ["link"])
        #expect(try folder.status("real/list").permissions == 0o640)
        #expect(try folder.names() == ["link", "real"])
    }

    @Test("A chain of links, including relative ones, is written through")
    func chain() throws {
        try folder.make("real/list")
        try folder.link("real/inner", to: "../real/./list")
        try folder.link("middle", to: "real/inner")
        try folder.link("outer", to: folder.path("middle"))
        try check("outer", leadsTo: "real/list", links: ["real/inner", "middle", "outer"])
    }

    @Test("A link to a folder of the path is followed")
    func folderLink() throws {
        try folder.make("real/list")
        try folder.link("folder", to: "real")
        try check("folder/list", leadsTo: "real/list", links: ["folder"])
        try check("folder/../real/list", leadsTo: "real/list", links: ["folder"])
    }

    @Test("The target of a dangling link is created, with its folders")
    func dangling() throws {
        try folder.link("link", to: "real/list")
        try check("link", leadsTo: "real/list", links: ["link"])
        try folder.link("far", to: "some/other/list")
        try check("far", leadsTo: "some/other/list", links: ["far"])
        #expect(try folder.status("some/other").permissions == 0o700)
    }

    @Test("Circular links are an error that names the path")
    func circle() throws {
        let path = try folder.link("a", to: "b")
        try folder.link("b", to: "a")
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ELOOP).reason)) {
            try FileSystemCalls.live.write(Data(), to: path)
        }
        #expect(try folder.names() == ["a", "b", "real"])
    }

    @Test("Two hard links become two files with the first write, which leaves the other name unchanged")
    func hardLinks() throws {
        let (file, other) = (folder.path("real/list"), folder.path("real/other"))
        let (list, otherList) = (PropertyListFile(at: URL(fileURLWithPath: file)), PropertyListFile(at: URL(fileURLWithPath: other)))
        _ = try list.edit { $0["one"] = 1 }
        try FileManager.default.linkItem(atPath: file, toPath: other)
        #expect(try otherList.load().values == ["one": 1])
        _ = try otherList.edit { $0["two"] = 2 }
        #expect(try list.load().values == ["one": 1])
        _ = try list.edit { $0["three"] = 3 }
        #expect(try list.load().values == ["one": 1, "three": 3])
        #expect(try otherList.load().values == ["one": 1, "two": 2])
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: folder.path("real")).sorted() == [
                ".list.lock", ".other.lock", "list", "other",
            ])
    }

    @Test("Two paths to one file resolve to the same path")
    func sameFile() throws {
        try folder.link("folder", to: "real")
        let direct = try ResolvedPath(folder.path("real/list"))
        #expect(try ResolvedPath(folder.path("folder//./list")) == direct)
        #expect(try ResolvedPath(folder.path("folder/../real/list")) == direct)
        #expect((direct.folder, direct.name) == (folder.path("real"), "list"))
        #expect(direct.sibling("x").path == folder.path("real/x"))
    }

    @Test("Paths that differ in normalization are different")
    func normalization() throws {
        #expect(try ResolvedPath(folder.path("é")) != ResolvedPath(folder.path("e\u{301}")))
        #expect(try ResolvedPath(folder.path("é")) == ResolvedPath(folder.path("./é")))
    }

    @Test("A relative path starts at the working directory, and the root has no parent")
    func relative() throws {
        #expect(try ResolvedPath("some/list").path == ResolvedPath(FileManager.default.currentDirectoryPath).path + "/some/list")
        let top = try ResolvedPath("/../nowhere-at-all")
        #expect((top.path, top.folder, top.name, top.sibling("x").path) == ("/nowhere-at-all", "/", "nowhere-at-all", "/x"))
    }

    @Test("A link whose target is truncated, or replaced at each check, is an error, and not another path")
    func unreadableLink() throws {
        let path = try folder.link("link", to: "real")
        var calls = FileSystemCalls.live
        calls.readLink = { path, buffer throws(SystemError) in
            // As a prefix of a longer path it would lead to an existing folder.
            let start = Array("real".utf8) + [UInt8](repeating: UInt8(ascii: "/"), count: buffer.count)
            buffer.copyBytes(from: start.prefix(buffer.count))
            return buffer.count
        }
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ENAMETOOLONG).reason)) {
            try ResolvedPath(AbsolutePath(path), calls: calls)
        }
        calls.readLink = { _, _ throws(SystemError) in throw SystemError(EINVAL) }
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(EBUSY).reason)) {
            try ResolvedPath(AbsolutePath(path), calls: calls)
        }
    }

    @Test("A file that replaces a link while it is resolved is used")
    func replacedLink() throws {
        try folder.make("real/list")
        try folder.make("other")
        let path = try folder.link("link", to: "real/list")
        let isReplaced = Lock(false)
        var calls = FileSystemCalls.live
        calls.readLink = { [folder] path, buffer throws(SystemError) in
            let isFirst = isReplaced.withLock { isReplaced in
                defer { isReplaced = true }
                return !isReplaced
            }
            if isFirst { rename(folder.path("other"), path.path) }
            return try FileSystemCalls.live.readLink(path, buffer)
        }
        #expect(try ResolvedPath(AbsolutePath(path), calls: calls).name == "link")
        #expect(try folder.status("link").kind == .file)
    }

    @Test("Forty links are followed, as in the system, and no more")
    func longChain() throws {
        try folder.make("0")
        for number in 1...41 {
            try folder.link("\(number)", to: "\(number - 1)")
        }
        #expect(try ResolvedPath(folder.path("40")).name == "0")
        #expect(throws: StorageError.unreadable(file: folder.path("41"), reason: SystemError(ELOOP).reason)) {
            try ResolvedPath(folder.path("41"))
        }
    }

}
