import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

enum Committing {
    static let rows = [
        Row(
            "commit.1000", "durable commit, 1,000 keys, encoding included",
            against: "temporary file, fsync, rename over the old one, folder fsync, of the same bytes", goal: 1.4
        ) { place in
            let sample = try SampleStore(1_000, in: place)
            let subject = commit(to: sample.store)
            // One commit first, so that both sides write the same bytes except for the number.
            _ = try await subject.run(1)
            let baseline = try bareCommit(of: Data(contentsOf: sample.file), in: place)
            return Pair(subject: subject.settled, baseline: baseline, tearDown: sample.close)
        },
        Row(
            "commit.journal.1000", "durable commit to a journal, 1,000 keys",
            against: "temporary file, fsync, rename over the old one, folder fsync, of the bytes of the list", goal: 0.6
        ) { place in
            let sample = try SampleStore(1_000, journal: .full(), in: place)
            let baseline = try bareCommit(of: Data(contentsOf: sample.file), in: place)
            return Pair(subject: commit(to: sample.store, .journal), baseline: baseline, tearDown: sample.close)
        },
        Row(
            "commit.journal.file.1000", "the same by the file alone, without a store and its threads", against: "the same", goal: 0.6
        ) { place in
            let bytes = try PropertyListValue.dictionary(SampleList.make(1_000)).encoded(as: .binary)
            let folder = try place.folder()
            let list = folder.file("settings.plist")
            try bytes.write(to: list)
            let file = PropertyListFile(at: list, journal: .full())
            var value = 0 as Int64
            let subject = Work.loop { count in
                for _ in 0..<count {
                    value += 1
                    _ = try file.edit { $0[SampleList.name(0)] = .integer(PropertyListInteger(value)) }
                }
            }
            return Pair(subject: subject, baseline: try bareCommit(of: bytes, in: place)) { _ = folder }
        },
        Row(
            "commit.checkpoint.1000", "a checkpoint of a journal, 1,000 keys", against: "durable commit without a journal", goal: 1
        ) { place in
            let samples = try [JournalMode.full(), .edits].map { try SampleStore(1_000, journal: $0, in: place) }
            let checkpoint = Work { count in
                var (value, total) = (samples[0].store[.launchCount], 0.0)
                for _ in 0..<count {
                    value += 1
                    samples[0].store[.launchCount] = value
                    try await samples[0].store.flush(to: .journal)
                    let start = Clock.now
                    try await samples[0].store.flush()
                    total += Double(Clock.now - start)
                }
                return total / Double(count)
            }
            return Pair(subject: checkpoint, baseline: commit(to: samples[1].store)) {
                for sample in samples { try await sample.close() }
            }
        },
        Row(
            "commit.journal.100000", "the same, 100,000 keys", against: "the same, 1,000 keys", goal: 1.2
        ) { place in
            let samples = try [100_000, 1_000].map { try SampleStore($0, journal: .full(), in: place) }
            let works = samples.map { commit(to: $0.store, .journal) }
            return Pair(subject: works[0], baseline: works[1]) {
                for sample in samples { try await sample.close() }
            }
        },
    ]

    /// Changes one entry, and waits until the file with all of them is on disk.
    static func commit(to store: ObservableStore, _ destination: FlushDestination = .storage) -> Work {
        var value = store[.launchCount]
        return Work { count in
            let start = Clock.now
            for _ in 0..<count {
                value += 1
                store[.launchCount] = value
                try await store.flush(to: destination)
            }
            return Double(Clock.now - start) / Double(count)
        }
    }

    /// - Parameters:
    ///   - isOldHeldOpen: whether deletion of the replaced file is deferred to another thread.
    ///   - isSafe: whether the bytes are synchronized before the rename.
    static func bareCommit(of bytes: Data, in place: Place, isOldHeldOpen: Bool = false, isSafe: Bool = true) throws -> Work {
        let folder = try place.folder()
        let file = folder.path("settings.plist")
        try replace(file, in: folder.url.path, by: bytes, isSafe: isSafe)
        let closing = DispatchQueue(label: "closing")
        return .loop { count in
            for _ in 0..<count {
                if isOldHeldOpen {
                    try replaceHoldingOld(file, in: folder.url.path, by: bytes, isSafe: isSafe, closing: closing)
                } else {
                    try replace(file, in: folder.url.path, by: bytes, isSafe: isSafe)
                }
            }
        }
    }

    /// Replaces a file whose deletion is deferred to a queue.
    static func replaceHoldingOld(
        _ file: String, in folder: String, by bytes: Data, isSafe: Bool = true, closing: DispatchQueue
    ) throws {
        let old = open(file, O_RDONLY | O_CLOEXEC)
        // Deferred this long, it does not delay the next commit.
        defer { if old >= 0 { closing.asyncAfter(deadline: .now() + .milliseconds(10)) { close(old) } } }
        try replace(file, in: folder, by: bytes, isSafe: isSafe)
    }

    /// Replaces a file durably and atomically.
    private static func replace(_ file: String, in folder: String, by bytes: Data, isSafe: Bool) throws {
        let temporary = file + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try Failure.unless(descriptor >= 0, "\(temporary) cannot be made")
        defer { close(descriptor) }
        let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        try Failure.unless(count == bytes.count, "\(temporary) cannot be written")
        if isSafe { try Failure.unless(Medium.synchronize(descriptor), "\(temporary) cannot be synchronized") }
        try Failure.unless(rename(temporary, file) == 0, "\(temporary) cannot be renamed")
        let parent = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try Failure.unless(parent >= 0, "\(folder) cannot be opened")
        defer { close(parent) }
        try Failure.unless(fsync(parent) == 0, "\(folder) cannot be synchronized")
    }
}
