/// What somebody wants to be told, and for how long.
struct Observer<Element: Sendable>: Sendable {
    let life: SubscriptionLife
    let onReceive: @Sendable (Element) -> Void
    /// Called once when nothing more will come.
    let onFinish: @Sendable () -> Void

    init(
        life: SubscriptionLife = SubscriptionLife(), onReceive: @escaping @Sendable (Element) -> Void,
        onFinish: @escaping @Sendable () -> Void
    ) {
        self.life = life
        self.onReceive = onReceive
        self.onFinish = onFinish
    }
}

extension Observer {
    /// Passes everything on to a stream; the token ends when the stream does.
    static func stream(_ continuation: AsyncStream<Element>.Continuation) -> Observer {
        Observer(onReceive: { continuation.yield($0) }, onFinish: { continuation.finish() })
    }
}
