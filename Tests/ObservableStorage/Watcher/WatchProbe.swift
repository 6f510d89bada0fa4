import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// A watcher, and what was at its path each time it said to look.
final class WatchProbe: Sendable {
    /// One event, and the file's content when it came.
    struct Report: Sendable, Hashable {
        let event: FileWatcher.Event
        let content: String?
    }

    let queue = DispatchQueue(label: "WatchProbe")
    let reports: Inbox<Report>
    let watcher: FileWatcher

    /// Starts a watcher, and returns when everything that comes of starting is told.
    init(_ path: String, _ options: FileWatcherOptions = FileWatcherOptions()) async throws {
        let reports = Inbox<Report>()
        self.reports = reports
        watcher = FileWatcher(path: path, queue: queue, options: options) {
            reports.put(Report(event: $0, content: Disk.read(path)))
        }
        _ = await reports.first { $0.event == .changed }
        try await settle()
    }

    /// Forgets everything that was told of what has happened so far.
    func settle() async throws {
        try await passAll()
        reports.takeAll()
    }

    /// Waits until everything that has happened so far is told; what replaced the file is told once more when it is quiet.
    ///
    /// Notices come in order, so that once a change made now is told, all earlier ones are.
    func passAll() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("sentinel")
        let sights = Inbox<Bool>()
        let sentinel = FileWatcher(path: path, queue: queue) { _ in sights.put(Disk.read(path) != nil) }
        try Disk.replace(path, "here")
        _ = await sights.first { $0 }
        sentinel.cancel()
    }

    /// Waits until something is told while the file has this content; nil stands for no file.
    func sees(_ content: String?) async -> Bool {
        await reports.first { $0.content == content } != nil
    }
}

extension FileWatcherOptions {
    /// A timer only, and a fast one.
    static var polling: FileWatcherOptions {
        FileWatcherOptions(service: nil, pollInterval: .milliseconds(5))
    }

    /// The system's own way, which never gets to look at an open writer.
    static var withoutQuiet: FileWatcherOptions {
        FileWatcherOptions(quiet: .seconds(3600), limit: .seconds(3600))
    }

    /// Every means there is here.
    static var all: [FileWatcherOptions] {
        [FileWatcherOptions(), .polling]
    }
}

extension FileWatcherOptions: CustomTestStringConvertible {
    /// The mechanism.
    public var testDescription: String {
        service == nil ? "polling" : "service"
    }
}
