#if os(Linux)
    /// Who wants to know about which watch and name; look-ups do not depend on how many there are.
    ///
    /// The kernel gives one watch for an inode, whatever path it was named by, so it is kept as long as anybody uses it.
    struct InotifyTable<Subscriber: AnyObject> {
        /// A name in a watched folder, or, without a name, a watched file.
        struct Watched: Sendable, Hashable {
            let watch: Int32
            let name: String?
        }

        private struct Watch {
            var subscribers: [String?: [ObjectIdentifier: Subscriber]] = [:]
        }

        private var watches: [Int32: Watch] = [:]

        var isEmpty: Bool {
            watches.isEmpty
        }

        mutating func insert(_ subscriber: Subscriber, for key: Watched) {
            watches[key.watch, default: Watch()].subscribers[key.name, default: [:]][ObjectIdentifier(subscriber)] = subscriber
        }

        /// Forgets a subscription, and returns whether it was the watch's last one.
        mutating func remove(_ subscriber: Subscriber, for key: Watched) -> Bool {
            guard let index = watches.index(forKey: key.watch),
                watches.values[index].subscribers[key.name]?.removeValue(forKey: ObjectIdentifier(subscriber)) != nil
            else { return false }
            if watches.values[index].subscribers[key.name]?.isEmpty == true {
                watches.values[index].subscribers[key.name] = nil
            }
            guard watches.values[index].subscribers.isEmpty else { return false }
            watches.remove(at: index)
            return true
        }

        /// Forgets a watch that the kernel has ended.
        mutating func forget(_ watch: Int32) {
            watches[watch] = nil
        }

        /// Everybody who wants to know about an event.
        func subscribers(of event: InotifyEvent) -> [Subscriber] {
            if event.mask.contains(.overflow) {
                return everybody
            }
            guard let watch = watches[event.watch] else { return [] }
            if let name = event.name {
                return watch.subscribers[name].map { Array($0.values) } ?? []
            }
            return everybody(in: CollectionOfOne(watch))
        }

        /// Everybody who wants to know about anything.
        var everybody: [Subscriber] {
            everybody(in: watches.values)
        }

        private func everybody(in watches: some Sequence<Watch>) -> [Subscriber] {
            var unique: [ObjectIdentifier: Subscriber] = [:]
            for watch in watches {
                for subscribers in watch.subscribers.values { unique.merge(subscribers) { first, _ in first } }
            }
            return Array(unique.values)
        }
    }
#endif
