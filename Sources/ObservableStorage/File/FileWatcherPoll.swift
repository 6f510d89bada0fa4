import Dispatch
import Foundation

/// A timer that looks at a path from time to time and tells when something is different.
final class FileWatcherPoll: Sendable {
    /// What is different, or may be.
    struct News: Sendable {
        let ofFile: Bool
        let ofObstacle: Bool
    }

    private let source: FileWatcherSource

    /// Starts looking.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - obstacle: what keeps the file from being watched, if it is a file or folder itself.
    ///   - queue: where to look.
    ///   - interval: how often.
    ///   - changed: called on the queue.
    init(
        path: String, obstacle: String? = nil, queue: DispatchQueue, interval: Duration, changed: @escaping @Sendable (News) -> Void
    ) {
        let comparison = Guarded(FileWatcherComparison(FileWatcherIdentity(path: path)))
        let obstacleIdentity = Guarded(obstacle.map(FileWatcherIdentity.init))
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let repeating = DispatchTimeInterval.nanoseconds(interval.wholeNanoseconds)
        timer.schedule(
            deadline: .now() + repeating, repeating: repeating, leeway: .nanoseconds(interval.wholeNanoseconds / 10))
        source = FileWatcherSource(timer) { _ in
            let time = Date()
            let identity = FileWatcherIdentity(path: path)
            let obstacle = obstacle.map(FileWatcherIdentity.init)
            let isOtherObstacle = obstacleIdentity.withLock { last in
                defer { last = obstacle }
                return last != obstacle
            }
            let news = News(ofFile: comparison.withLock { $0.isNews(identity, at: time) }, ofObstacle: isOtherObstacle)
            if news.ofFile || news.ofObstacle { changed(news) }
        }
    }

    /// Stops looking.
    func cancel() {
        source.cancel()
    }
}

/// What a timer saw last, and whether that is still all there is to tell.
struct FileWatcherComparison: Sendable {
    private var last: FileWatcherIdentity
    // A write of the same length within one tick of the file system's clock leaves no trace, so what is new, or was there at the start, is
    // told once more, and until such a write would leave one.
    private var repeats = true

    init(_ identity: FileWatcherIdentity) {
        last = identity
    }

    /// Whether the file's state is to be looked at, which was found after that time.
    mutating func isNews(_ identity: FileWatcherIdentity, at time: Date) -> Bool {
        let isOther = identity != last
        let isNews = isOther || repeats
        last = identity
        repeats = isOther || identity.mayHideWrites(after: time)
        return isNews
    }
}

extension Duration {
    /// All of it in nanoseconds.
    var wholeNanoseconds: Int {
        Int(components.seconds) * 1_000_000_000 + Int(components.attoseconds / 1_000_000_000)
    }
}
