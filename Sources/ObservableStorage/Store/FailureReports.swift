/// Errors that no caller is there to catch. Those that come while nobody listens wait for the first who does.
final class FailureReports: Sendable {
    private static let mostUnheard = 16

    private let publisher = ChangePublisher<StorageError>()
    private let unheard = Guarded<[StorageError]>([])

    /// Tells an error to everyone who listens.
    func report(_ error: StorageError) {
        unheard.withLock { unheard in
            if publisher.isIdle {
                unheard = unheard.suffix(Self.mostUnheard - 1) + [error]
            } else {
                publisher.post { error }
            }
        }
        publisher.deliver()
    }

    /// The errors from now on, after those that nobody has heard yet.
    var stream: AsyncStream<StorageError> {
        let (stream, continuation) = AsyncStream.makeStream(of: StorageError.self)
        let token = unheard.withLock { unheard in
            defer { unheard = [] }
            return publisher.add(initial: unheard.map { error in { error } }, .stream(continuation))
        }
        continuation.onTermination = { _ in token.cancel() }
        publisher.deliver()
        return stream
    }

    /// Ends every stream.
    func finish() {
        publisher.finish()
    }
}
