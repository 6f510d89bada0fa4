import Dispatch

/// What somebody wants to be told, and how.
struct Observer<Element: Sendable>: Sendable {
    let onReceive: @Sendable (Element) -> Void
    /// Called once when nothing more will come, with the subscription's life.
    let onFinish: @Sendable (SubscriptionLife) -> Void
    /// A serial queue to make the calls on, in place of the thread that delivers.
    let queue: DispatchQueue?
    /// Whether elements are only put into a buffer for somebody to take them.
    let isReader: Bool
    /// Where the newest element is put for somebody to take it, in place of a call.
    let slot: LatestSlot?

    init(
        on queue: DispatchQueue? = nil, isReader: Bool = false, onReceive: @escaping @Sendable (Element) -> Void,
        onFinish: @escaping @Sendable (SubscriptionLife) -> Void
    ) {
        (self.onReceive, self.onFinish, self.queue, self.isReader, slot) = (onReceive, onFinish, queue, isReader, nil)
    }

    /// An observer for whom the newest element is put into a slot, as the publisher boxes it.
    init(slot: LatestSlot, onFinish: @escaping @Sendable (SubscriptionLife) -> Void) {
        (onReceive, self.onFinish, queue, isReader, self.slot) = ({ _ in }, onFinish, nil, true, slot)
    }
}

extension Observer {
    /// Calls a closure; the subscription ends when nothing more will come, and lets go of it.
    static func listener(on queue: DispatchQueue? = nil, _ onReceive: @escaping @Sendable (Element) -> Void) -> Observer {
        Observer(on: queue, onReceive: onReceive, onFinish: { $0.end() })
    }

    /// Passes everything on to a stream; the token ends when the stream does.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        stream(continuation) { $0 }
    }

    /// Passes everything on to a stream of something that is made of it without user code.
    static func stream<Made: Sendable>(
        _ continuation: AsyncStream<Made>.Continuation, _ make: @escaping @Sendable (Element) -> Made
    ) -> Observer {
        Observer(isReader: true, onReceive: { continuation.yield(make($0)) }, onFinish: { _ in continuation.finish() })
    }
}
