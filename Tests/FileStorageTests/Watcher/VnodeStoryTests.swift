#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    @testable import ObservableStorage

    /// The watches of Apple's systems, with the events that kqueue reports, on real files.
    @Suite("Vnode watches: the path", .timeLimit(.minutes(10)))
    struct VnodeStoryTests {
        private let folder: TemporaryFolder
        private let system: InotifyVnodes

        init() throws {
            folder = try TemporaryFolder()
            system = try InotifyVnodes()
        }

        private var options: FileWatcherOptions {
            FileWatcherOptions(service: system.fake.service)
        }

        @Test("External changes of the path are reported step by step by the watches of Apple's systems", arguments: WatchStory.all)
        func story(story: WatchStory) async throws {
            try story.prepare(folder)
            let path = folder.url.path + "/" + story.path
            let probe = try await WatchProbe(path, options)
            for (number, step) in story.steps.enumerated() {
                try step.act(folder, path)
                #expect(await probe.sees(step.content), "step \(number)")
                try await probe.settle()
            }
            probe.watcher.cancel()
        }

        @Test("Watches of Apple's systems follow links that are changed to other targets, and links to links")
        func links() async throws {
            for name in ["one", "two"] { try Disk.writeDeep(folder.path("\(name)/settings"), name) }
            let path = folder.path("app.plist")
            try Disk.link(folder.path("middle"), to: "one")
            try Disk.link(path, to: "middle/settings")
            let probe = try await WatchProbe(path, options)
            try Disk.relink(folder.path("middle"), to: "two")
            #expect(await probe.sees("two"))
            try await probe.settle()
            try Disk.write(folder.path("two/settings"), "three")
            #expect(await probe.sees("three"))
            try await probe.settle()
            try Disk.relink(path, to: folder.path("one/settings"))
            #expect(await probe.sees("one"))
            try await probe.settle()
            try Disk.replace(folder.path("one/settings"), "four")
            #expect(await probe.sees("four"))
            probe.watcher.cancel()
        }

        @Test("Folders deleted and created again without a pause end with the last file for watches of Apple's systems")
        func churn() async throws {
            let path = folder.path("a/b/app.plist")
            let probe = try await WatchProbe(path, options)
            for round in 0..<50 {
                try Disk.makeFolder(folder.path("a/b"))
                try Disk.write(path, "\(round)")
                if round < 49 { try Disk.remove(folder.path("a")) }
            }
            #expect(await probe.sees("49"))
            try await probe.settle()
            try Disk.replace(path, "last")
            #expect(await probe.sees("last"))
            probe.watcher.cancel()
        }
    }
#endif
