import Dispatch

/// What somebody wants to be told, and how.
struct Observer<Element: Sendable>: Sendable {
    let onReceive: @Sendable (Element) -> Void
    /// Called once when nothing more will come, with the subscription's life.
    let onFinish: @Sendable (SubscriptionLife) -> Void
    /// A serial queue to make the calls on, in place of the thread that delivers.
    let queue: DispatchQueue?
    /// Where the newest element is put for somebody to take it, in place of a call.
    let slot: LatestSlot?

    init(
        on queue: DispatchQueue? = nil, onReceive: @escaping @Sendable (Element) -> Void,
        onFinish: @escaping @Sendable (SubscriptionLife) -> Void
    ) {
        (self.onReceive, self.onFinish, self.queue, slot) = (onReceive, onFinish, queue, nil)
    }

    /// An observer for whom the newest element is put into a slot, as the publisher boxes it.
    init(slot: LatestSlot, onFinish: @escaping @Sendable (SubscriptionLife) -> Void) {
        (onReceive, self.onFinish, queue, self.slot) = ({ _ in }, onFinish, nil, slot)
    }
}

extension Observer {
    /// Calls a closure; the subscription ends when nothing more will come, and lets go of it.
    static func listener(on queue: DispatchQueue? = nil, _ onReceive: @escaping @Sendable (Element) -> Void) -> Observer {
        Observer(on: queue, onReceive: onReceive, onFinish: { $0.end() })
    }

    /// Passes everything on to a stream; the token ends when the stream does.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        Observer(onReceive: { continuation.yield($0) }, onFinish: { _ in continuation.finish() })
    }
}
