import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

/// A watcher, and the file at its path at each event.
final class WatchProbe: Sendable {
    /// An event, and the file's content when it was delivered.
    struct Report: Sendable, Hashable {
        let event: FileWatcher.Event
        let content: String?
    }

    let queue = DispatchQueue(label: "WatchProbe")
    let reports: Inbox<Report>
    let watcher: FileWatcher

    /// Starts a watcher, and returns after its initial events.
    init(_ path: String, _ options: FileWatcherOptions = FileWatcherOptions()) async throws {
        let reports = Inbox<Report>()
        self.reports = reports
        watcher = FileWatcher(path: path, queue: queue, options: options) {
            reports.put(Report(event: $0, content: Disk.read(path)))
        }
        _ = await reports.first { $0.event == .changed }
        try await settle()
    }

    /// Discards the events of all changes so far.
    func settle() async throws {
        try await passAll()
        reports.takeAll()
    }

    /// Waits until all changes so far were reported; a replacement is reported again after the quiet time.
    ///
    /// Events arrive in order: after a change made now is reported, all earlier ones have been.
    func passAll() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("sentinel")
        let sights = Inbox<Bool>()
        let sentinel = FileWatcher(path: path, queue: queue) { _ in sights.put(Disk.read(path) != nil) }
        try Disk.replace(path, "here")
        _ = await sights.first { $0 }
        sentinel.cancel()
    }

    /// Waits for an event while the file has this content; nil for no file.
    func sees(_ content: String?) async -> Bool {
        await reports.first { $0.content == content } != nil
    }
}

extension FileWatcherOptions {
    /// Polling only, with a short interval.
    static var polling: FileWatcherOptions {
        FileWatcherOptions(service: nil, pollInterval: .milliseconds(5))
    }

    /// The system's events only, without checks of an open writer.
    static var withoutQuiet: FileWatcherOptions {
        FileWatcherOptions(quiet: .seconds(3600), limit: .seconds(3600))
    }

    /// All mechanisms of this system.
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
