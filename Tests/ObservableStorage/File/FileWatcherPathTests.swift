import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// What is above the file, or leads to it, changes.
@Suite("FileWatcher: the path", .timeLimit(.minutes(5)))
struct FileWatcherPathTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("A folder that is deleted and made again is told, several levels up", arguments: FileWatcherOptions.all, ["a", "a/b", "a/b/c"])
    func folderRecreated(options: FileWatcherOptions, removed: String) async throws {
        let path = folder.path("a/b/c/app.plist")
        try Disk.makeFolder(folder.path("a/b/c"))
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, options)
        for round in 0..<3 {
            try Disk.remove(folder.path(removed))
            #expect(await probe.sees(nil))
            try Disk.makeFolder(folder.path("a/b/c"))
            try Disk.write(path, "back \(round)")
            #expect(await probe.sees("back \(round)"))
            try await probe.settle()
            try Disk.replace(path, "replaced \(round)")
            #expect(await probe.sees("replaced \(round)"))
        }
    }

    @Test("Folders deleted and made again without a pause end in the last file", arguments: FileWatcherOptions.all)
    func churn(options: FileWatcherOptions) async throws {
        let path = folder.path("a/b/app.plist")
        let probe = try await WatchProbe(path, options)
        for round in 0..<200 {
            try Disk.makeFolder(folder.path("a/b"))
            try Disk.write(path, "\(round)")
            if round < 199 { try Disk.remove(folder.path("a")) }
        }
        #expect(await probe.sees("199"))
        try await probe.settle()
        try Disk.replace(path, "last")
        #expect(await probe.sees("last"))
    }

    @Test("Another folder in the place of one is told", arguments: FileWatcherOptions.all, ["a", "a/b"])
    func folderReplaced(options: FileWatcherOptions, replaced: String) async throws {
        let path = folder.path("a/b/app.plist")
        try Disk.makeFolder(folder.path("a/b"))
        try Disk.write(path, "one")
        try Disk.makeFolder(folder.path("other/b"))
        try Disk.write(folder.path("other/b/app.plist"), "two")
        try Disk.write(folder.path("other/app.plist"), "two")
        let probe = try await WatchProbe(path, options)
        try Disk.move(folder.path(replaced), folder.path("gone"))
        try Disk.move(folder.path("other"), folder.path(replaced))
        #expect(await probe.sees("two"))
        try await probe.settle()
        try Disk.write(path, "three")
        #expect(await probe.sees("three"))
    }

    @Test("A renamed ancestor is told, and its return", arguments: FileWatcherOptions.all)
    func ancestorRenamed(options: FileWatcherOptions) async throws {
        let path = folder.path("a/b/c/app.plist")
        try Disk.makeFolder(folder.path("a/b/c"))
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, options)
        try Disk.move(folder.path("a"), folder.path("away"))
        #expect(await probe.sees(nil))
        try Disk.move(folder.path("away"), folder.path("a"))
        #expect(await probe.sees("one"))
        try await probe.settle()
        try Disk.write(path, "two")
        #expect(await probe.sees("two"))
    }

    @Test("Folders that are missing at first may come", arguments: FileWatcherOptions.all)
    func missingFolders(options: FileWatcherOptions) async throws {
        let path = folder.path("a/b/c/d/app.plist")
        let probe = try await WatchProbe(path, options)
        for level in ["a", "a/b", "a/b/c", "a/b/c/d"] { try Disk.makeFolder(folder.path(level)) }
        try Disk.write(path, "one")
        #expect(await probe.sees("one"))
    }

    @Test("Watching makes no folder and no file", arguments: FileWatcherOptions.all)
    func leavesNothing(options: FileWatcherOptions) async throws {
        let probe = try await WatchProbe(folder.path("a/b/app.plist"), options)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        probe.watcher.cancel()
    }

    @Test("A file in the place of a folder gives way to the folder", arguments: FileWatcherOptions.all)
    func fileInsteadOfFolder(options: FileWatcherOptions) async throws {
        try Disk.write(folder.path("a"), "not a folder")
        let path = folder.path("a/app.plist")
        let probe = try await WatchProbe(path, options)
        try Disk.remove(folder.path("a"))
        try Disk.makeFolder(folder.path("a"))
        try Disk.write(path, "one")
        #expect(await probe.sees("one"))
    }

    @Test("A folder in the place of the file gives way to the file", arguments: FileWatcherOptions.all)
    func folderInsteadOfFile(options: FileWatcherOptions) async throws {
        let path = folder.path("app.plist")
        try Disk.makeFolder(path)
        let probe = try await WatchProbe(path, options)
        try Disk.remove(path)
        try Disk.write(path, "one")
        #expect(await probe.sees("one"))
    }

    @Test("Dots and repeated slashes mean what they mean to the system", arguments: FileWatcherOptions.all)
    func dots(options: FileWatcherOptions) async throws {
        try Disk.makeFolder(folder.path("real/deep"))
        try Disk.link(folder.path("link"), to: "real/deep")
        let probe = try await WatchProbe(folder.url.path + "/.//link/../app.plist", options)
        try Disk.write(folder.path("real/app.plist"), "one")
        #expect(await probe.sees("one"))
    }

    @Test(
        "Names that are not ASCII are told apart from nothing", arguments: FileWatcherOptions.all, ["Größe.plist", "設定.plist", "e\u{301}"])
    func names(options: FileWatcherOptions, name: String) async throws {
        let path = folder.url.path + "/" + name
        let probe = try await WatchProbe(path, options)
        try Disk.replace(path, "one")
        #expect(await probe.sees("one"))
    }

    @Test("A relative path starts at the current folder") func relative() async throws {
        #expect(TrailWalk.absolute("x/y") == FileManager.default.currentDirectoryPath + "/x/y")
        #expect(TrailWalk.absolute("/x/y") == "/x/y")
    }
}
