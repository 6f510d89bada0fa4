/// What somebody wants to be told, and for how long.
struct Observer<Element: Sendable>: Sendable {
    let life: SubscriptionLife
    let onReceive: @Sendable (Element) -> Void
    /// Called once when nothing more will come.
    let onFinish: @Sendable () -> Void
    /// Where the newest element is put for somebody to take it, in place of a call.
    let slot: LatestSlot?

    init(
        life: SubscriptionLife = SubscriptionLife(), onReceive: @escaping @Sendable (Element) -> Void,
        onFinish: @escaping @Sendable () -> Void
    ) {
        (self.life, self.onReceive, self.onFinish, slot) = (life, onReceive, onFinish, nil)
    }

    /// An observer for whom the newest element is put into a slot, as the publisher boxes it.
    init(slot: LatestSlot, onFinish: @escaping @Sendable () -> Void) {
        (life, onReceive, self.onFinish, self.slot) = (SubscriptionLife(), { _ in }, onFinish, slot)
    }
}

extension Observer {
    /// Passes everything on to a stream; the token ends when the stream does.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        Observer(onReceive: { continuation.yield($0) }, onFinish: { continuation.finish() })
    }
}
