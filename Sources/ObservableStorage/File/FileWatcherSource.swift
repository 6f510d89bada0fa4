import Dispatch

/// A Dispatch source that is active from the start and cancelled at the end, as Dispatch demands.
///
/// Unchecked, because the source is configured before anybody else can see it, and afterwards only cancelled, which is
/// allowed from any thread and any number of times.
final class FileWatcherSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// Activates a source.
    ///
    /// - Parameters:
    ///   - source: has no handlers yet, and is used by nobody else.
    ///   - released: called once, after the last event, when what the source reads from may be closed.
    ///   - handler: called on the source's queue with its data.
    init(
        _ source: any DispatchSourceProtocol, released: @escaping @Sendable () -> Void = {}, handler: @escaping @Sendable (UInt) -> Void
    ) {
        self.source = source
        source.setEventHandler { [weak self] in
            if let self { handler(self.source.data) }
        }
        source.setCancelHandler(handler: released)
        source.activate()
    }

    deinit {
        source.cancel()
    }

    /// Ends the events; doing it again does nothing.
    func cancel() {
        source.cancel()
    }
}
