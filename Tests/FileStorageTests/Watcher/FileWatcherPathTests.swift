import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// Changes of the folders and links of the path.
@Suite("FileWatcher: the path", .timeLimit(.minutes(10)))
struct FileWatcherPathTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("External changes of the path are reported step by step", arguments: FileWatcherOptions.all, WatchStory.all)
    func story(options: FileWatcherOptions, story: WatchStory) async throws {
        try story.prepare(folder)
        let path = folder.url.path + "/" + story.path
        let probe = try await WatchProbe(path, options)
        for (number, step) in story.steps.enumerated() {
            try step.act(folder, path)
            #expect(await probe.sees(step.content), "step \(number)")
            try await probe.settle()
        }
    }

    @Test("Folders deleted and created again without a pause end with the last file", arguments: FileWatcherOptions.all)
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

    @Test("Watching creates no folder and no file", arguments: FileWatcherOptions.all)
    func leavesNothing(options: FileWatcherOptions) async throws {
        let probe = try await WatchProbe(folder.path("a/b/app.plist"), options)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
        probe.watcher.cancel()
    }

    @Test("In a deleted working directory, a relative path cannot be watched, and is not resolved against the root")
    func goneFolder() async throws {
        let environment = ["FOLDER": try folder.makeFolder("gone"), "PEER": Subprocess.executable("Peer").path]
        let script = "cd \"$FOLDER\" && rmdir \"$FOLDER\" && \"$PEER\" file-event app.plist"
        let peer = try await Subprocess.finished("/bin/sh", ["-c", script], environment: environment)
        let reason = "its path is relative to the working folder, which no longer exists;"
        #expect(peer.text.hasPrefix("fallback(app.plist: cannot be read: \(reason)"))
    }

    @Test("Without a working directory, a relative path is not watched or polled later either: that would be another file")
    func notFromRoot() async throws {
        let registered = Recorder<String>()
        var options = FileWatcherOptions(
            service: WatchService(mechanism: .vnode) { path, _ throws(WatchError) in
                registered.record(path)
                throw WatchError(reason: "recorded")
            })
        options.calls.workingFolder = { () throws(SystemError) in throw SystemError(ENOENT) }
        let events = Recorder<FileWatcher.Event>()
        let watcher = FileWatcher(path: "app.plist", queue: DispatchQueue(label: "test"), options: options) { events.record($0) }
        let first = try await events.elements(count: 2)
        guard case .fallback(.unreadable("app.plist", _, _)) = first[0], first[1] == .changed else {
            Issue.record("\(first)")
            return
        }
        #expect(watcher.session.state.withLock { $0.poll == nil && !$0.backoff.isScheduled })
        #expect(registered.elements.isEmpty)
    }

    @Test("A relative path starts at the working directory") func relative() async throws {
        #expect(try AbsolutePath.fromRoot("x/y", of: "x/y") == FileManager.default.currentDirectoryPath + "/x/y")
        #expect(try AbsolutePath.fromRoot("/x/y", of: "/x/y") == "/x/y")
    }
}
