import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// The file itself changes.
@Suite("FileWatcher: the file", .timeLimit(.minutes(10)))
struct FileWatcherFileTests {
    let folder: TemporaryFolder
    let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("app.plist")
    }

    @Test("Watching begins with a check, with or without a file", arguments: FileWatcherOptions.all, [nil, "one"])
    func firstLook(options: FileWatcherOptions, content: String?) async throws {
        if let content { try Disk.write(path, content) }
        let reports = Inbox<FileWatcher.Event>()
        let watcher = FileWatcher(path: path, queue: DispatchQueue(label: "test"), options: options) { reports.put($0) }
        #expect(await reports.first { _ in true } == .changed)
        watcher.cancel()
    }

    @Test("A file that its writer closes is checked without the quiet time")
    func closedWriter() async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, .withoutQuiet)
        try Disk.write(path, "two")
        #expect(await probe.sees("two"))
    }

    @Test("A writer that never closes the file is reported", arguments: FileWatcherOptions.all)
    func openWriter(options: FileWatcherOptions) async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, options)
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try writer.truncate(atOffset: 0)
        try writer.write(contentsOf: Data("two".utf8))
        #expect(await probe.sees("two"))
        try writer.write(contentsOf: Data(" three".utf8))
        #expect(await probe.sees("two three"))
        try writer.close()
    }

    @Test("Continuous writing is reported after the limit")
    func busyWriter() async throws {
        try Disk.write(path, "")
        let probe = try await WatchProbe(path, FileWatcherOptions(quiet: .seconds(3600), limit: .milliseconds(20)))
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try writer.write(contentsOf: Data("two".utf8))
        #expect(await probe.sees("two"))
        try writer.close()
    }

    @Test("A hard link created under the file's name is reported")
    func newHardLink() async throws {
        try Disk.write(folder.path("other"), "one")
        let probe = try await WatchProbe(path, .withoutQuiet)
        try Disk.hardLink(path, to: folder.path("other"))
        #expect(await probe.sees("one"))
    }

    @Test("A file whose times or permissions are changed is checked", arguments: FileWatcherOptions.all, [true, false])
    func attributes(options: FileWatcherOptions, changesTimes: Bool) async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, options)
        if changesTimes { Disk.touch(path) } else { try #require(chmod(path, 0o640) == 0) }
        #expect(await probe.sees("one"))
    }

    @Test("Other files of the folder are not reported")
    func neighbours() async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, .withoutQuiet)
        for number in 0..<100 { try Disk.replace(folder.path("neighbour\(number % 7)"), "other") }
        try await probe.passAll()
        #expect(probe.reports.takeAll().isEmpty)
        try Disk.replace(path, "two")
        #expect(await probe.sees("two"))
    }

    @Test("Many changes cause few notifications, and the last change is reported", arguments: FileWatcherOptions.all)
    func coalescing(options: FileWatcherOptions) async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, options)
        // While the queue is busy, all events become one notification.
        let gate = DispatchSemaphore(value: 0)
        probe.queue.async { gate.wait() }
        for number in 0..<1000 { try Disk.replace(path, "\(number)") }
        gate.signal()
        #expect(await probe.sees("999"))
        try await probe.settle()
        try Disk.replace(path, "last")
        #expect(await probe.sees("last"))
    }

    @Test("A thousand changes of a file on a busy queue cause one or two notifications")
    func combinedNotices() async throws {
        try Disk.write(path, "one")
        let probe = try await WatchProbe(path, .withoutQuiet)
        let gate = DispatchSemaphore(value: 0)
        probe.queue.async { gate.wait() }
        for number in 0..<1000 { try Disk.replace(path, "\(number)") }
        let sentinel = try await WatchProbe(folder.path("sentinel"))
        try Disk.replace(folder.path("sentinel"), "here")
        #expect(await sentinel.sees("here"))
        gate.signal()
        try await probe.passAll()
        let notices = probe.reports.takeAll()
        #expect((1...2).contains(notices.count))
        #expect(notices.last?.content == "999")
    }
}
