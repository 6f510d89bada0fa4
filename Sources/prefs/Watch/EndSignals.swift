import Dispatch
import Foundation

/// Ends the process well when it is told to end.
///
/// The sources are kept for as long as signals are to be heard.
struct EndSignals {
    private let sources: [any DispatchSourceSignal]

    /// Calls a closure for SIGINT and SIGTERM instead of what they do by themselves.
    init(_ body: @escaping @Sendable () -> Void) {
        let queue = DispatchQueue(label: "prefs signals")
        sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
            source.setEventHandler(handler: body)
            source.activate()
            return source
        }
    }
}
