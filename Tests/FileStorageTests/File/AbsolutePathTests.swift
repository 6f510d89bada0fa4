import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A path resolved as text leads to another file than in the system if one of its folders is a link.
@Suite("Paths resolve as in the system", .timeLimit(.minutes(10))) struct AbsolutePathTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func isRefused(_ url: URL, because reason: String) -> Bool {
        do throws(StorageError) {
            _ = try AbsolutePath(of: url)
            return false
        } catch {
            guard case .unreadable(_, let text, _) = error else { return false }
            return text.contains(reason)
        }
    }

    /// Files in several folders, and links to them.
    private func makeTree() throws {
        for name in ["x/y", "z", "x/\u{301}"] {
            try folder.makeFolder(name)
            try folder.make(name + "/f")
        }
        try folder.make("f")
        try folder.make("x/f")
        for (link, target) in [
            ("ln", "x/y"), ("x/up", ".."), ("x/y/z", "../../z/"), ("z/file", "../x/f"), ("z/far", folder.path("x")), ("x/dangling", "none"),
            ("z/circle", "circle"),
        ] {
            try folder.link(link, to: target)
        }
    }

    private func inode(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG ? UInt64(status.st_ino) : nil
    }

    @Test("Any path leads to the file that the system opens, or to none if there is none")
    func anyPath() throws {
        try makeTree()
        var generator = SeededGenerator(seed: 12)
        let parts = ["..", "..", ".", "", "x", "y", "z", "ln", "up", "far", "file", "f", "dangling", "circle", "none", "\u{301}"]
        var (opened, refused) = (0, 0)
        let count = isLong || isOptimized ? 20_000 : 5_000
        for _ in 0..<count {
            let middle = (0..<Int.random(in: 0...6, using: &generator)).compactMap { _ in parts.randomElement(using: &generator) }
            let path = ([folder.url.path] + middle + [["f", "file", "dangling"][Int.random(in: 0..<3, using: &generator)]])
                .joined(separator: "/")
            let expected = inode(path)
            do throws(StorageError) {
                let resolved = try ResolvedPath(path)
                // A path that the system does not open does not exist: a name next to a folder or file, or below it.
                #expect(inode(resolved.path) == expected, "\(path)")
                opened += expected == nil ? 0 : 1
            } catch {
                #expect(expected == nil, "\(path): \(error)")
                refused += 1
            }
        }
        #expect(opened > count / 40 && refused > count / 40)
    }

    @Test("Two dots after a missing component or one that is not a folder are an error, as in the system")
    func dotsAfterNothing() throws {
        try makeTree()
        for (path, code) in [("none/../f", ENOENT), ("x/f/../f", ENOTDIR), ("x/dangling/../f", ENOENT)] {
            let path = folder.url.path + "/" + path
            let error = StorageError.unreadable(file: path, reason: SystemError(code).reason)
            #expect(throws: error) { try ResolvedPath(path) }
        }
    }

    @Test("A URL is the file of its text: absolute, relative to a folder, or relative to a file")
    func urls() throws {
        try makeTree()
        let base = folder.url
        let path = folder.url.path
        let urls = [
            (URL(fileURLWithPath: path + "/ln/../f"), "/ln/../f"), (URL(fileURLWithPath: "ln/../f", relativeTo: base), "/ln/../f"),
            (URL(fileURLWithPath: "../f", relativeTo: base.appendingPathComponent("ln", isDirectory: true)), "/ln/../f"),
            (URL(fileURLWithPath: "ln/../f", relativeTo: base.appendingPathComponent("f", isDirectory: false)), "/ln/../f"),
            (base.appendingPathComponent("ln").appendingPathComponent("../f"), "/ln/../f"),
            (URL(fileURLWithPath: path + "//./x/.//f"), "/x/f"), (base.appendingPathComponent("a b%20é\u{301}"), "/a b%20é\u{301}"),
        ]
        for (url, expected) in urls {
            #expect(try AbsolutePath(of: url).text == path + expected)
        }
        let list = PropertyListFile(at: URL(fileURLWithPath: "ln/../list", relativeTo: base))
        _ = try list.edit { $0["count"] = 5 }
        #expect(FileManager.default.fileExists(atPath: folder.path("x/list")))
        #expect(!FileManager.default.fileExists(atPath: folder.path("list")))
        #expect(try list.load().values == ["count": 5])
    }

    @Test("A URL whose path is not or may not have been UTF-8, or contains NUL, is rejected, and neither read nor written")
    func notText() throws {
        let bytes: [CChar] = folder.url.path.utf8CString.dropLast() + [0x2F, 0x61, -1, 0]
        let made = URL(fileURLWithFileSystemRepresentation: bytes, isDirectory: false, relativeTo: nil)
        let read = try #require(URL(string: "\(folder.url.absoluteString)a%FF"))
        for url in [made, read] {
            #expect(isRefused(url, because: "not UTF-8"))
            #expect(throws: StorageError.self) { try PropertyListFile(at: url).load() }
            #expect(throws: StorageError.self) { try PropertyListFile(at: url).edit { $0["count"] = 5 } }
            #expect(throws: StorageError.self) { try PropertyListFile(at: url).isWritableByOthers }
            #expect(throws: StorageError.self) { try ObservableStore.shared(at: url) }
        }
        #expect(isRefused(try #require(URL(string: "\(folder.url.absoluteString)a%00b")), because: "NUL"))
        #expect(throws: StorageError.self) { try AbsolutePath("/a\0b") }
        #expect(try folder.names() == [])
    }

    @Test("A path that names no file is rejected", arguments: ["", "/", "a/", "a/.", "..", "/a/.."])
    func noFile(path: String) {
        #expect(throws: StorageError.self) { try AbsolutePath(path) }
    }

    @Test("A URL that is not a file URL is rejected, and shown as it was given")
    func otherURL() throws {
        #expect(isRefused(try #require(URL(string: "https://example.org/settings.plist")), because: "not a file URL"))
        let url = try #require(URL(string: "https://user:password@example.org/x.plist?token=1"))
        let error = StorageError.unreadable(file: "https://example.org/x.plist", reason: "it is not a file URL; use URL(fileURLWithPath:)")
        #expect(throws: error) { try PropertyListFile(at: url).load() }
    }

    @Test("A relative path starts at the working directory, and a tilde is a name")
    func relative() throws {
        let working = FileManager.default.currentDirectoryPath
        #expect(try AbsolutePath("./a/../b").text == working + "/a/../b")
        #expect(try AbsolutePath("~/b").text == working + "/~/b")
        #expect(PropertyListFile(path: "~/b").name == working + "/~/b")
    }
}
