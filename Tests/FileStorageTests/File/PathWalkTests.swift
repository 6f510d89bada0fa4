import Foundation
import Testing

@testable import ObservableStorage

/// Resolution of a path, component by component.
@Suite("Path resolution", .timeLimit(.minutes(10)))
struct PathWalkTests {
    /// The kind of file that has a name.
    enum Name {
        case folder, file
        case link(target: String)
    }

    /// Resolves a path on a simulated disk.
    func walk(_ path: String, _ disk: [String: Name]) -> (asked: [String], walk: PathWalk) {
        var walk = PathWalk(path)
        var asked: [String] = []
        while let step = walk.next() {
            asked.append("\(step.folder) \(step.name)")
            switch disk[step.path] {
            case .folder: walk.found(.folder)
            case .link(let target): walk.found(.link, target: target)
            case .file: walk.found(.file)
            case nil: walk.found(nil)
            }
        }
        return (asked, walk)
    }

    @Test("A path is resolved from the root") func plainWalk() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder, "/a/b": .folder, "/a/b/c": .file])
        #expect(asked == ["/ a", "/a b", "/a/b c"])
        #expect(walk.file == ResolvedPath("c", in: "/a/b"))
        #expect(walk.last == walk.file)
    }

    @Test("A name can begin with a combining mark") func combiningMark() {
        let (asked, walk) = walk("/a/\u{301}/b", ["/a": .folder, "/a/\u{301}": .link(target: "/\u{301}c"), "/\u{301}c": .folder])
        #expect(asked == ["/ a", "/a \u{301}", "/ \u{301}c", "/\u{301}c b"])
        #expect(walk.last == ResolvedPath("b", in: "/\u{301}c"))
    }

    @Test("A missing folder ends the resolution, and is not the file's name") func missingWalk() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder])
        #expect(asked == ["/ a", "/a b"])
        #expect(walk.file == nil)
        #expect(walk.last == nil)
    }

    @Test("A missing file is awaited under its name") func missingFile() {
        let (_, walk) = walk("/a/b", ["/a": .folder])
        #expect(walk.file == nil)
        #expect(walk.last == ResolvedPath("b", in: "/a"))
    }

    @Test("A file in place of a folder ends the resolution") func fileOnTheWay() {
        let (asked, walk) = walk("/a/b/c", ["/a": .folder, "/a/b": .file])
        #expect(asked == ["/ a", "/a b"])
        #expect(walk.file == nil)
    }

    @Test("Links are resolved where they are, two dots where they lead") func linkedWalk() {
        let (asked, walk) = walk(
            "/a/app",
            [
                "/a": .folder, "/a/app": .link(target: "..data/./app"), "/a/..data": .link(target: "../b//v1/"), "/b": .folder,
                "/b/v1": .folder, "/b/v1/app": .link(target: "/c"), "/c": .file,
            ])
        #expect(asked == ["/ a", "/a app", "/a ..data", "/ b", "/b v1", "/b/v1 app", "/ c"])
        #expect(walk.file == ResolvedPath("c", in: "/"))
    }

    @Test("Circular links are followed as far as the kernel follows them") func ring() {
        let (asked, walk) = walk("/a", ["/a": .link(target: "b"), "/b": .link(target: "a")])
        #expect(asked.count == 41)
        #expect(Set(asked) == ["/ a", "/ b"])
        #expect(walk.file == nil)
    }

    @Test("The root has no parent") func aboveRoot() {
        #expect(walk("/../../a", [:]).asked == ["/ a"])
    }

    static let destinations: [(String, to: String)] = [
        ("/a/b", "/a/b"), ("/a/none/c/d", "/a/none/c/d"), ("/a/file/c", "/a/file/c"), ("/a/link", "/a/b"), ("/a/dangling", "/none/x"),
        ("/a/b/..", "/a"), ("/a/link/../file", "/a/file"), ("/", "/"), ("/..", "/"),
    ]

    private static let disk: [String: Name] = [
        "/a": .folder, "/a/b": .folder, "/a/file": .file, "/a/link": .link(target: "./b/"), "/a/dangling": .link(target: "/none/x"),
        "/a/ring": .link(target: "ring"),
    ]

    @Test("A path leads where its links lead, whether or not the target exists", arguments: destinations)
    func destination(path: String, destination: String) throws {
        let resolved = try walk(path, Self.disk).walk.destination()
        #expect(resolved.path == destination)
        #expect(ResolvedPath(resolved.name, in: resolved.folder).path == destination)
    }

    @Test(
        "Two dots after a component that is not a folder, and circular links, cannot be resolved",
        arguments: [
            ("/none/../a", ENOENT), ("/a/none/b/../c", ENOENT), ("/a/file/../b", ENOTDIR), ("/a/file/b/../c", ENOTDIR),
            ("/a/dangling/..", ENOENT), ("/a/ring", ELOOP), ("/a/ring/b", ELOOP),
        ])
    func nowhere(path: String, code: Int32) {
        #expect(throws: SystemError(code)) { try walk(path, Self.disk).walk.destination() }
    }
}
