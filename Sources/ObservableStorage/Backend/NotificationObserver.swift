import Foundation

/// Hears notifications of one name until it is cancelled.
///
/// The unchecked conformance holds because the observer is never touched: it is only handed back to the center, which any thread may do.
final class NotificationObserver: @unchecked Sendable {
    private let observer: any NSObjectProtocol

    /// Calls a closure with each notification, on the thread that posts it.
    init(of name: Notification.Name, _ onPost: @escaping @Sendable (Notification) -> Void) {
        observer = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil, using: onPost)
    }

    /// Hears no more.
    func cancel() {
        NotificationCenter.default.removeObserver(observer)
    }
}
