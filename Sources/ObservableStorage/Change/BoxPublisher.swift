/// Delivers boxed elements to any number of observers: what ``ChangePublisher`` does, independent of the type of the elements.
///
/// Not generic, because generic code looks up its types in each call.
class BoxPublisher: @unchecked Sendable {
    // Sendable because all mutable state is locked; unchecked because the class is not final.

    private struct State {
        // Separate, because readers never wait for listeners, and calling very many is faster without checking the kind of each.
        var listeners: [Subscription] = []
        var streams: [Subscription] = []
        var slots: [Subscription] = []
        var isFinished = false

        var isIdle: Bool { listeners.isEmpty && streams.isEmpty && slots.isEmpty }
    }

    private let state = Lock(State())
    private let reading: DeliveryQueue
    private let listening: DeliveryQueue

    /// Creates a publisher whose deliveries are serialized with those of its group, and which its owner finishes.
    ///
    /// - Parameter runsUserCode: whether making an element runs user code.
    init(group: UInt64, runsUserCode: Bool = false) {
        reading = DeliveryQueue(group: group, .reading(runsUserCode: runsUserCode))
        listening = DeliveryQueue(group: group, .listening)
    }

    final var isIdle: Bool {
        state.withLock { $0.isIdle }
    }

    /// Whether later subscriptions end immediately.
    final var isFinished: Bool {
        state.withLock { $0.isFinished }
    }

    // What is posted is converted by these, and not by closures, of which each would be an allocation: asyncstream.one.

    /// The element that observers receive for what was posted; nil for none. Called on delivery, once for all observers.
    func element(of posted: AnyBox) -> AnyBox? { posted }

    /// The box that slots receive for an element; nil leaves the slots unchanged.
    func slotBox(of element: AnyBox) -> AnyBox? { element }

    /// The box that slots receive for what was posted if there are no other observers, which may not need the element.
    func onlyBox(of posted: AnyBox) -> AnyBox? {
        element(of: posted).flatMap(slotBox)
    }

    /// Releases the elements that are still kept after the end, when tokens and streams may retain the publisher for longer.
    func releaseElements() {}

    /// Queues an element for all current observers except that of the token `muted`. The caller delivers it, after the lock that
    /// determines the order.
    final func post(_ posted: AnyBox, muting muted: UInt64 = 0, to deliveries: inout Deliveries) {
        state.withLock { state in
            let all = state.listeners
            let listeners = muted == ObservationToken.everyListenerID ? all.filter { !$0.isListener } : all
            let (slots, streams) = (state.slots, state.streams)
            guard !slots.isEmpty || !streams.isEmpty else {
                if listeners.isEmpty { return }
                return deliveries.append(to: listening) { [self] in
                    if let element = element(of: posted) { Self.call(listeners, with: element, muting: muted) }
                }
            }
            guard !listeners.isEmpty || !streams.isEmpty else {
                return deliveries.append(to: reading) { [self] in if let box = onlyBox(of: posted) { Self.fill(slots, with: box) } }
            }
            // Created once, by the first delivery, for both.
            let shared = listeners.isEmpty ? nil : Once { [self] in element(of: posted) }
            deliveries.append(to: reading) { [self] in
                guard let element = shared == nil ? element(of: posted) : shared?.value else { return }
                if !slots.isEmpty, let box = slotBox(of: element) { Self.fill(slots, with: box) }
                Self.call(streams, with: element, muting: muted)
            }
            guard let shared else { return }
            deliveries.append(to: listening) { if let element = shared.value { Self.call(listeners, with: element, muting: muted) } }
        }
    }

    final func postFinish(to deliveries: inout Deliveries) {
        state.withLock { state in
            state.isFinished = true
            let (readers, listeners) = (state.slots + state.streams, state.listeners)
            (state.slots, state.streams, state.listeners) = ([], [], [])
            for (queue, subscriptions) in [(reading, readers), (listening, listeners)] where !subscriptions.isEmpty {
                deliveries.append(to: queue) { [self] in
                    for subscription in subscriptions { subscription.finish() }
                    releaseElements()
                }
            }
        }
    }

    /// Subscribes, and queues initial elements for this subscription only: boxes for the slot, if it has one.
    final func add(
        initial: [@Sendable () -> AnyBox] = [], _ subscription: Subscription, to deliveries: inout Deliveries,
        onCancel: @escaping @Sendable () -> Void = {}
    ) -> ObservationToken {
        let queue = subscription.isReader ? reading : listening
        state.withLock { state in
            for makeInitial in initial {
                deliveries.append(to: queue) {
                    let element = makeInitial()
                    if subscription.slot == nil { subscription.receive(element) } else { Self.fill([subscription], with: element) }
                }
            }
            if state.isFinished {
                deliveries.append(to: queue) { subscription.finish() }
            } else if subscription.slot != nil {
                state.slots.insert(subscription)
            } else if subscription.isStream {
                state.streams.insert(subscription)
            } else {
                state.listeners.insert(subscription)
            }
        }
        // Retained by the token: a weak reference takes longer, and there is no cycle after the end.
        return ObservationToken(id: subscription.id) { [self] in
            subscription.end()
            state.withLock { state in
                state.listeners.remove(subscription)
                state.streams.remove(subscription)
                state.slots.remove(subscription)
            }
            onCancel()
        }
    }

    private static func call(_ subscriptions: [Subscription], with element: AnyBox, muting muted: UInt64) {
        // The array retains them all until the last one was called: retaining each one separately would double the cost.
        withExtendedLifetime(subscriptions) {
            subscriptions.withUnsafeBytes { bytes in
                for subscription in bytes.assumingMemoryBound(to: Unmanaged<Subscription>.self) {
                    subscription._withUnsafeGuaranteedRef { if $0.id != muted { $0.receive(element) } }
                }
            }
        }
    }

    /// Puts one box into all slots, and resumes the waiting readers.
    private static func fill(_ subscriptions: [Subscription], with box: AnyBox) {
        // Usually one, for which no list is made.
        if subscriptions.count == 1 {
            subscriptions[0].slot?.send(box)
            return
        }
        var readers: [LatestSlot.Reader] = []
        for subscription in subscriptions {
            if let reader = subscription.slot?.put(box) { readers.append(reader) }
        }
        LatestSlot.resume(readers, with: box)
    }
}
