import Foundation
import ObservableStorage
import PropertyListCoding
import Synchronization
import TestSupport

enum External {
    static let rows = [
        Row(
            "external.100", "another process's change, rename to element, 100 keys",
            against: "system's event, Dispatch handler, `AsyncStream` element, nothing read", goal: 2
        ) { try await pair(100, in: $0) },
        Row("external.1000", "the same, 1,000 keys", against: "the same", goal: 2.5) { try await pair(1_000, in: $0) },
        Row(
            "external.journal.100", "another store's `set` to element by a journal, 100 keys",
            against: "system's event, Dispatch handler, `AsyncStream` element, nothing read", goal: 2.5
        ) { place in
            let subject = try await journaled(100, in: place)
            let (baseline, task) = try await bareReceive(in: place, 100)
            return Pair(subject: subject.work, baseline: baseline) {
                task.cancel()
                try await subject.tearDown()
            }
        },
        Row("external.journal.100000", "the same, 100,000 keys", against: "the same, 100 keys", goal: 1.5) { place in
            let (subject, baseline) = (try await journaled(100_000, in: place), try await journaled(100, in: place))
            return Pair(subject: subject.work, baseline: baseline.work) {
                try await subject.tearDown()
                try await baseline.tearDown()
            }
        },
    ]

    private static func pair(_ keys: Int, in place: Place) async throws -> Pair {
        let sample = try SampleStore(keys, in: place)
        let (subject, task) = try await receive(sample, keys)
        let (baseline, bareTask) = try await bareReceive(in: place, keys)
        return Pair(subject: subject, baseline: baseline) {
            task.cancel()
            bareTask.cancel()
            try await sample.close()
        }
    }

    /// The time from another writer's rename to the element that a reader of the key receives.
    static func receive(_ sample: SampleStore, _ keys: Int) async throws -> (Work, Task<Void, Never>) {
        let (arrivals, task) = await read(sample.store, .launchCount)
        return (receive(arrivals, from: OtherWriter(sample.folder, entries: SampleList.make(keys))), task)
    }

    /// Counts the elements that a reader of a key receives, after the first one; the reader keeps the store.
    static func read<Value: Sendable>(_ store: ObservableStore, _ key: StorageKey<Value>) async -> (Countdown, Task<Void, Never>) {
        let arrivals = Countdown()
        let values = store.values(of: key)
        var task = Task<Void, Never> {}
        _ = await arrivals.time(1) {
            task = Task {
                for await value in values {
                    consume(value)
                    arrivals.arrive()
                }
                withExtendedLifetime(store) {}
            }
        }
        return (arrivals, task)
    }

    /// The time from setting a value in one store to the element that a reader of another one receives.
    private static func journaled(_ keys: Int, in place: Place) async throws -> (work: Work, tearDown: @Sendable () async throws -> Void) {
        let sample = try SampleStore(keys, journal: .full(), in: place)
        let writer = try ObservableStore(at: sample.file, journal: .full())
        let (arrivals, task) = await read(sample.store, .launchCount)
        let work = Work { count in
            var times: [Double] = []
            for _ in 0..<count {
                times.append(await arrivals.time(1) { writer[.launchCount] += 1 }.end)
            }
            return Statistics.median(times)
        }
        return (
            work,
            { [task] in
                task.cancel()
                try await writer.close()
                try await sample.close()
            }
        )
    }

    /// The baseline: waits for that rename only, and reads nothing.
    static func bareReceive(in place: Place, _ keys: Int) async throws -> (Work, Task<Void, Never>) {
        try await receive(in: place, keys) { _, continuation in continuation.yield() }
    }

    /// The smallest reader: another queue, as one watch serves many stores, reads the file, and yields its value if that has changed.
    static func readOnly(in place: Place, _ keys: Int) async throws -> (Work, Task<Void, Never>) {
        let queue = DispatchQueue(label: "reader")
        let last = Mutex<PropertyListValue?>(nil)
        return try await receive(in: place, keys) { file, continuation in
            queue.async {
                do {
                    guard case .dictionary(let entries) = try PropertyListValue.decode(Data(contentsOf: file)).value else { return }
                    let value = entries["launchCount"]
                    let isNew = last.withLock { last in
                        defer { last = value }
                        return last != value
                    }
                    if isNew { continuation.yield() }
                } catch {
                    fatalError("\(error)")
                }
            }
        }
    }

    private static func receive(
        in place: Place, _ keys: Int, _ changed: @escaping @Sendable (URL, AsyncStream<Void>.Continuation) -> Void
    ) async throws -> (Work, Task<Void, Never>) {
        let arrivals = Countdown()
        let folder = try place.folder()
        var writer = OtherWriter(folder, entries: SampleList.make(keys))
        try writer.prepare()
        try writer.replace()
        let (events, continuation) = AsyncStream.makeStream(of: Void.self)
        let file = folder.file("settings.plist")
        let watch = try BareWatch(folder.url.path) { changed(file, continuation) }
        continuation.onTermination = { _ in watch.cancel() }
        let task = Task {
            for await _ in events { arrivals.arrive() }
        }
        return (receive(arrivals, from: writer), task)
    }

    /// The time until each rename has arrived at the given number of receivers.
    static func receive(_ arrivals: Countdown, from writer: OtherWriter, count receivers: Int = 1) -> Work {
        var writer = writer
        return Work { count in
            var times: [Double] = []
            for _ in 0..<count {
                try writer.prepare()
                times.append(try await arrivals.time(receivers) { try writer.replace() }.end)
            }
            return Statistics.median(times)
        }
    }
}
