import Dispatch

/// A Dispatch source that is active from the start and cancelled at the end, as Dispatch demands.
///
/// Unchecked, because the source is configured before anybody else can see it, and afterwards only cancelled, which is
/// allowed from any thread and any number of times.
final class FileWatcherSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// Activates a source; `released` is called once, after the last event, when what it reads from may be closed.
    init(_ source: any DispatchSourceProtocol, released: @escaping @Sendable () -> Void = {}, handler: @escaping @Sendable () -> Void) {
        self.source = source
        source.setEventHandler(handler: handler)
        source.setCancelHandler(handler: released)
        source.activate()
    }

    deinit {
        source.cancel()
    }

    func cancel() {
        source.cancel()
    }
}
