import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// The file is reached through symbolic links.
@Suite("FileWatcher: links", .timeLimit(.minutes(10)))
struct FileWatcherLinkTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("A change of a link's target is reported", arguments: FileWatcherOptions.all, [true, false])
    func throughLink(options: FileWatcherOptions, isRelative: Bool) async throws {
        try Disk.makeFolder(folder.path("real"))
        let real = folder.path("real/settings")
        try Disk.write(real, "one")
        let path = folder.path("app.plist")
        try Disk.link(path, to: isRelative ? "real/settings" : real)
        let probe = try await WatchProbe(path, options)
        try Disk.write(real, "two")
        #expect(await probe.sees("two"))
        try Disk.replace(real, "three")
        #expect(await probe.sees("three"))
        try Disk.remove(folder.path("real"))
        #expect(await probe.sees(nil))
    }

    @Test("The creation of a link's target is reported", arguments: FileWatcherOptions.all)
    func dangling(options: FileWatcherOptions) async throws {
        let path = folder.path("app.plist")
        try Disk.link(path, to: "not/yet/there")
        let probe = try await WatchProbe(path, options)
        try Disk.makeFolder(folder.path("not/yet"))
        try Disk.write(folder.path("not/yet/there"), "one")
        #expect(await probe.sees("one"))
    }

    @Test("A link changed to another target is reported, and so are changes of that target", arguments: FileWatcherOptions.all)
    func retargeted(options: FileWatcherOptions) async throws {
        for name in ["one", "two"] {
            try Disk.makeFolder(folder.path(name))
            try Disk.write(folder.path("\(name)/settings"), name)
        }
        let path = folder.path("app.plist")
        try Disk.link(path, to: "one/settings")
        let probe = try await WatchProbe(path, options)
        try Disk.relink(path, to: "two/settings")
        #expect(await probe.sees("two"))
        try await probe.settle()
        try Disk.write(folder.path("two/settings"), "three")
        #expect(await probe.sees("three"))
    }

    @Test("A link is replaced by a file and a file by a link", arguments: FileWatcherOptions.all)
    func linkAndFile(options: FileWatcherOptions) async throws {
        try Disk.makeFolder(folder.path("elsewhere"))
        let target = folder.path("elsewhere/settings")
        try Disk.write(target, "linked")
        let path = folder.path("app.plist")
        try Disk.write(path, "plain")
        let probe = try await WatchProbe(path, options)
        for round in 0..<3 {
            try Disk.relink(path, to: "elsewhere/settings")
            #expect(await probe.sees("linked"))
            try await probe.settle()
            try Disk.write(target, "written \(round)")
            #expect(await probe.sees("written \(round)"))
            try Disk.replace(path, "plain")
            #expect(await probe.sees("plain"))
            try Disk.write(target, "linked")
        }
    }

    @Test("A folder of the path can be a link", arguments: FileWatcherOptions.all)
    func linkedFolder(options: FileWatcherOptions) async throws {
        for name in ["one", "two"] {
            try Disk.makeFolder(folder.path("\(name)/deep"))
            try Disk.write(folder.path("\(name)/deep/app.plist"), name)
        }
        try Disk.link(folder.path("current"), to: "one")
        let probe = try await WatchProbe(folder.path("current/deep/app.plist"), options)
        try Disk.relink(folder.path("current"), to: folder.path("two"))
        #expect(await probe.sees("two"))
    }

    @Test("Kubernetes swaps the folder that a chain of links leads to", arguments: FileWatcherOptions.all)
    func kubernetes(options: FileWatcherOptions) async throws {
        func publish(_ version: Int) throws {
            try Disk.makeFolder(folder.path("..2024_\(version)"))
            try Disk.write(folder.path("..2024_\(version)/app.plist"), "version \(version)")
            try Disk.relink(folder.path("..data"), to: "..2024_\(version)")
            if version > 0 { try Disk.remove(folder.path("..2024_\(version - 1)")) }
        }
        try publish(0)
        try Disk.link(folder.path("app.plist"), to: "..data/app.plist")
        let probe = try await WatchProbe(folder.path("app.plist"), options)
        for version in 1...10 {
            try publish(version)
            #expect(await probe.sees("version \(version)"))
        }
    }

    @Test("Circular links end when they are broken", arguments: FileWatcherOptions.all)
    func ring(options: FileWatcherOptions) async throws {
        let path = folder.path("a")
        try Disk.link(path, to: "b")
        try Disk.link(folder.path("b"), to: "a")
        let probe = try await WatchProbe(path, options)
        try Disk.replace(folder.path("b"), "one")
        #expect(await probe.sees("one"))
    }
}
