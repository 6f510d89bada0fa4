import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Access to a property list, and other kinds of files in its place.
@Suite("Access to a property-list file", .timeLimit(.minutes(10)))
struct PropertyListFileAccessTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
        try #require(chmod(folder.url.path, 0o755) == 0)
        try folder.makeFolder("a/b")
        try folder.makeFolder("real")
    }

    /// The access of others to a path that leads to a file.
    struct Way: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The permissions of the components, sticky bits included; the list itself is created if it is named.
        let permissions: [String: mode_t]
        /// The location of the link that leads to the list, if there is one.
        var link: String?
        let isOpen: Bool
    }

    static let ways = [
        Way(testDescription: "an own file", permissions: ["a/b/list": 0o600], isOpen: false),
        Way(testDescription: "a file that all may read", permissions: ["a/b/list": 0o644], isOpen: false),
        Way(testDescription: "a file that its group may write", permissions: ["a/b/list": 0o620], isOpen: true),
        Way(testDescription: "a file that all may write", permissions: ["a/b/list": 0o602], isOpen: true),
        Way(testDescription: "no file", permissions: ["a/b": 0o755], isOpen: false),
        Way(testDescription: "no file where all may make one", permissions: ["a/b": 0o777], isOpen: true),
        Way(testDescription: "no file in a sticky folder", permissions: ["a/b": 0o1777], isOpen: true),
        Way(testDescription: "a folder that its group may write", permissions: ["a/b/list": 0o600, "a/b": 0o775], isOpen: true),
        Way(testDescription: "a folder further up that all may write", permissions: ["a/b/list": 0o600, "a": 0o777], isOpen: true),
        Way(testDescription: "an own file in a sticky folder", permissions: ["a/b/list": 0o600, "a/b": 0o1777], isOpen: false),
        Way(testDescription: "an own folder in a sticky one", permissions: ["a/b/list": 0o600, "a": 0o1777], isOpen: false),
        Way(testDescription: "a link", permissions: ["a/b/list": 0o600], link: "real/list", isOpen: false),
        Way(testDescription: "a link to a file that all may write", permissions: ["a/b/list": 0o606], link: "real/list", isOpen: true),
        Way(testDescription: "a link that all may turn", permissions: ["a/b/list": 0o600, "real": 0o777], link: "real/list", isOpen: true),
        Way(
            testDescription: "an own link in a sticky folder", permissions: ["a/b/list": 0o600, "real": 0o1777], link: "real/list",
            isOpen: false),
        Way(
            testDescription: "a link into a folder of all", permissions: ["a/b/list": 0o600, "a/b": 0o777], link: "real/list", isOpen: true),
    ]

    @Test("A file that other users can write or replace is reported as such, and otherwise used normally", arguments: ways)
    func writableByOthers(_ way: Way) async throws {
        for (name, permissions) in way.permissions {
            if name.hasSuffix("list") { try folder.make(name, "") }
            try #require(chmod(folder.path(name), permissions) == 0)
        }
        if let link = way.link { try folder.link(link, to: folder.path("a/b/list")) }
        let file = PropertyListFile(at: folder.file(way.link ?? "a/b/list"))
        #expect(try file.isWritableByOthers == way.isOpen)
        if way.permissions.keys.contains("a/b/list") {
            try Data("<plist><dict/></plist>".utf8).write(to: folder.file("a/b/list"))
        }
        let store = try ObservableStore(backend: file)
        try await store.update { $0[Keys.count] = 1 }
        if let permissions = way.permissions["a/b/list"] { #expect(try folder.status("a/b/list").permissions == permissions) }
    }

    @Test("Ownership by another user is reported", .enabled(if: isSuperuser), arguments: ["a/b/list", "a/b", "a", "link"])
    func ownedByOthers(name: String) throws {
        try folder.make("a/b/list")
        let file = PropertyListFile(at: URL(fileURLWithPath: try folder.link("link", to: "a/b/list")))
        #expect(try !file.isWritableByOthers)
        try #require(lchown(folder.path(name), 12_345, 12_345) == 0)
        #expect(try file.isWritableByOthers)
    }

    @Test("Missing permission to check is an error that names the file")
    func unfollowable() {
        let path = folder.path(String(repeating: "x", count: 256))
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ENAMETOOLONG).reason)) {
            try PropertyListFile(at: URL(fileURLWithPath: path)).isWritableByOthers
        }
    }

    @Test("A path that cannot be resolved for reading and writing is an error for isWritableByOthers too")
    func leadsNowhere() throws {
        try #require(symlink("loop", folder.path("loop")) == 0)
        try folder.make("list")
        for name in ["loop", "loop/list", "none/../list", "list/../list"] {
            let file = PropertyListFile(path: folder.url.path + "/" + name)
            let error = try #require(throws: StorageError.self) { try file.edit { $0["count"] = 1 } }
            #expect(throws: error) { try file.isWritableByOthers }
        }
    }

    /// Kinds of files in place of a regular file.
    enum Obstacle: CaseIterable { case folder, pipe, device, linkToPipe, endlessLink }

    private func make(_ obstacle: Obstacle) throws {
        let path = folder.path("list")
        switch obstacle {
        case .folder: try folder.makeFolder("list")
        case .pipe: _ = try folder.makePipe("list")
        case .device: try folder.link("list", to: "/dev/zero")
        case .linkToPipe: try folder.link("list", to: try folder.makePipe("pipe"))
        case .endlessLink: try #require(symlink(path, path) == 0)
        }
    }

    @Test(
        "Anything but a regular file is an immediate error at opening, even if invalid files are moved aside", arguments: Obstacle.allCases)
    func opening(_ obstacle: Obstacle) throws {
        try make(obstacle)
        let names = try folder.names()
        for policy in [CorruptionPolicy.refuse, .quarantine] {
            let error = #expect(throws: StorageError.self) {
                try ObservableStore(at: folder.file("list"), configuration: .with { $0.onCorruption = policy })
            }
            guard case .unreadable(folder.path("list"), _, _)? = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
        #expect(try folder.names() == names)
    }

    @Test("Anything that later replaces the file fails a flush, whose edits are written after it is removed", arguments: Obstacle.allCases)
    func flushing(_ obstacle: Obstacle) async throws {
        let store = try ObservableStore(at: folder.file("list"))
        try make(obstacle)
        store[Keys.count] = 1
        await #expect(throws: StorageError.self) { try await store.flush() }
        #expect(store[Keys.count] == 1)
        try FileManager.default.removeItem(atPath: folder.path("list"))
        try await store.flush()
        #expect(try PropertyListFile(at: folder.file("list")).load().values == ["count": 1])
    }

    @Test("A store with a read-only file keeps its edits until the file is writable")
    func readOnly() async throws {
        let path = try folder.make("list", "<plist><dict><key>count</key><integer>1</integer></dict></plist>", permissions: 0o444)
        let store = try ObservableStore(at: folder.file("list"))
        store[Keys.count] = 2
        await #expect(throws: StorageError.unwritable(file: path, reason: "is read-only for everyone (mode 0444)", edits: .kept)) {
            try await store.flush()
        }
        #expect(store[Keys.count] == 2)
        #expect(try PropertyListFile(at: folder.file("list")).load().values == ["count": 1])
        try #require(chmod(path, 0o644) == 0)
        try await store.flush()
        #expect(try PropertyListFile(at: folder.file("list")).load().values == ["count": 2])
    }
}
