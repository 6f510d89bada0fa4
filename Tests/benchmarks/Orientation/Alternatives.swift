import Foundation
import TestSupport

/// Hand-written alternatives: a buffering stream, and a polled file.
enum Alternatives {
    static let rows = [
        Row("asyncstream.one", "tell one `values(of:)` reader, delivered", against: "one buffering `AsyncStream`") {
            try await Readers.pair(1, in: $0, \.end)
        },
        Row("polling.external", "another process's change, rename to element, 100 keys", against: "a look at the file every 10 ms") {
            place in
            let sample = try SampleStore(in: place)
            let (subject, task) = try await External.receive(sample, 100)
            let (baseline, poll) = try poll(in: place)
            return Pair(subject: subject, baseline: baseline) {
                task.cancel()
                poll.cancel()
                try await sample.close()
            }
        },
    ]

    private static func poll(in place: Place) throws -> (Work, Task<Void, any Error>) {
        let arrivals = Countdown()
        let folder = try place.folder()
        var writer = OtherWriter(folder, entries: SampleList.make(100))
        try writer.prepare()
        try writer.replace()
        let path = folder.path("settings.plist")
        let task = Task {
            var last = inode(path)
            while true {
                try await Task.sleep(for: .milliseconds(10))
                let now = inode(path)
                if now != last { arrivals.arrive() }
                last = now
            }
        }
        return (External.receive(arrivals, from: writer), task)
    }

    private static func inode(_ path: String) -> UInt64 {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : 0
    }
}
