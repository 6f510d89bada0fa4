import Dispatch
import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Start of watching", .timeLimit(.minutes(10)))
struct WatchStartTests {
    private let queue = DispatchQueue(label: "WatchStartTests")

    @Test("Nothing is watched before it is requested; then the file is looked at, as it may have changed meanwhile")
    func lateStart() async throws {
        let folder = try TemporaryFolder()
        let file = PropertyListFile(at: folder.file("settings.plist"))
        _ = try file.load()
        let start = WatchStart(on: queue)
        let events = Recorder<StorageEvent>()
        let token = file.watch(on: queue, from: start) { events.record($0) }
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: folder.file("settings.plist"))
        queue.sync {}
        #expect(file.list.currentWatch?.isWaiting == true && events.elements.isEmpty)
        start.request()
        #expect(try await events.elements(count: 1).first == .changed)
        #expect(file.list.currentWatch?.watcher != nil)
        token.cancel()
    }

    @Test("A watch that was cancelled before its start does not start")
    func cancelledBefore() throws {
        let folder = try TemporaryFolder()
        let file = PropertyListFile(at: folder.file("settings.plist"))
        let start = WatchStart(on: queue)
        let token = file.watch(on: queue, from: start) { _ in Issue.record("an event after the cancellation") }
        let watch = try #require(file.list.currentWatch)
        token.cancel()
        start.request()
        queue.sync {}
        queue.sync {}
        #expect(watch.watcher == nil)
    }

    @Test("Errors that a file reports before it is watched are delivered")
    func reports() async throws {
        let folder = try TemporaryFolder()
        try Data("damaged".utf8).write(to: folder.file("settings.plist"))
        var configuration = PropertyListFile.Configuration()
        configuration.onCorruption = .quarantine
        let file = PropertyListFile(at: folder.file("settings.plist"), configuration: configuration)
        _ = try file.load()
        let events = Recorder<StorageEvent>()
        let token = file.watch(on: queue, from: WatchStart(on: queue)) { events.record($0) }
        guard case .failed(.malformed)? = try await events.elements(count: 1).first else {
            Issue.record("\(events.elements)")
            return
        }
        token.cancel()
    }

    @Test("The first observer of a key or of all entries requests it, and a reader does not", arguments: [false, true])
    func observers(ofAll: Bool) {
        let start = WatchStart(on: queue)
        let requests = Recorder<Void>()
        start.perform { requests.record(()) }
        let cache = EntryCache(entries: StoredValues(["count": 1]), executor: DispatchQueueExecutor(label: "cache"), watchStart: start)
        _ = cache.read(EntryName(own: "count"), as: nil)
        queue.sync {}
        #expect(requests.elements.isEmpty)
        let tokens = (0..<2).map { _ in
            ofAll ? cache.observeAll(Observer(onReceive: { _ in })) : cache.observe(Keys.count, Observer(onReceive: { _ in }))
        }
        queue.sync {}
        #expect(requests.elements.count == 1)
        // Afterwards at once.
        start.perform { requests.record(()) }
        #expect(requests.elements.count == 2)
        tokens.forEach { $0.cancel() }
    }

    @Test("It is requested after a delay, which retains nothing")
    func delay() async throws {
        let requests = Recorder<Void>()
        let start = WatchStart(on: queue)
        start.perform { requests.record(()) }
        start.requestLater()
        _ = try await requests.elements(count: 1)
        weak var released: WatchStart?
        do {
            let start = WatchStart(on: queue)
            start.perform { Issue.record("watched after the release") }
            start.requestLater()
            released = start
        }
        #expect(released == nil)
    }
}
