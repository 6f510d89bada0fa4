import Dispatch

/// A Dispatch source that is activated when it is created and cancelled when it is released, as Dispatch requires.
///
/// The unchecked conformance holds because the source is configured before it is shared. Afterwards it is only cancelled, which any thread
/// may do any number of times.
final class ActivatedSource: @unchecked Sendable {
    private let source: any DispatchSourceProtocol

    /// Activates a source.
    ///
    /// - Parameters:
    ///   - source: a source without handlers that is not used elsewhere.
    ///   - released: called once, after the last event, when the source's descriptor may be closed.
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

    /// The descriptor whose events it handles.
    var descriptor: Int32 { Int32(truncatingIfNeeded: source.handle) }

    /// Ends the events; calling it again has no effect.
    func cancel() {
        source.cancel()
    }
}
