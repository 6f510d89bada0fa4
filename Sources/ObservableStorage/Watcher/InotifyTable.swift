#if os(Linux)
    import FoundationSubset

    /// A name in a watched folder, or a watched file if there is no name.
    struct WatchKey: Sendable, Hashable {
        let watch: Int32
        let name: String?
    }

    /// The subscribers of each watch and name, found in constant time, with the events that each one needs.
    ///
    /// The kernel returns one watch for an inode, whatever the path, so it is kept while it has a subscriber.
    struct InotifyTable {
        private typealias Names = [String?: [ObjectIdentifier: (subscriber: InotifyRegistration, mask: UInt32)]]

        private var watches: [Int32: Names] = [:]

        /// Adds a subscription, or changes its mask; returns the previous one, 0 without any.
        @discardableResult
        mutating func insert(_ subscriber: InotifyRegistration, for key: WatchKey, _ mask: UInt32) -> UInt32 {
            let subscription = (subscriber: subscriber, mask: mask)
            return watches[key.watch, default: [:]][key.name, default: [:]]
                .updateValue(subscription, forKey: ObjectIdentifier(subscriber))?.mask ?? 0
        }

        /// Removes a subscription, and returns whether it was the last one of its watch.
        mutating func remove(_ subscriber: InotifyRegistration, for key: WatchKey) -> Bool {
            guard let index = watches.index(forKey: key.watch),
                watches.values[index][key.name]?.removeValue(forKey: ObjectIdentifier(subscriber)) != nil
            else { return false }
            if watches.values[index][key.name]?.isEmpty == true {
                watches.values[index][key.name] = nil
            }
            guard watches.values[index].isEmpty else { return false }
            watches.remove(at: index)
            return true
        }

        /// Removes a watch that the kernel has ended.
        mutating func forget(_ watch: Int32) {
            watches[watch] = nil
        }

        /// The events that the subscribers of a watch need; 0 without any.
        func mask(of watch: Int32) -> UInt32 {
            (watches[watch] ?? [:]).values.reduce(0) { $1.values.reduce($0) { $0 | $1.mask } }
        }

        /// Whether all of some events of a watch are needed. There may be thousands of subscribers in a folder, of which the first ones usually need them.
        func needs(_ events: UInt32, of watch: Int32) -> Bool {
            var rest = events
            if rest == 0 { return true }
            for names in (watches[watch] ?? [:]).values {
                for subscription in names.values {
                    rest &= ~subscription.mask
                    if rest == 0 { return true }
                }
            }
            return false
        }

        /// The other names in a watched folder, with their subscribers; nil if there are more than a limit, if a key has other subscribers
        /// than one, or if the folder itself has any.
        func names(
            besides key: WatchKey, of subscriber: InotifyRegistration, limit: Int
        ) -> [(name: String, subscribers: [InotifyRegistration])]? {
            guard let names = watches[key.watch], names.count <= limit + 1, let own = names[key.name], own.count == 1,
                own[ObjectIdentifier(subscriber)] != nil
            else { return nil }
            var others: [(name: String, subscribers: [InotifyRegistration])] = []
            for (name, subscriptions) in names where name != key.name {
                guard let name else { return nil }
                others.append((name, subscriptions.values.map { $0.subscriber }))
            }
            return others
        }

        func subscribers(of event: InotifyEvent) -> [InotifyRegistration] {
            if event.contains(IN_Q_OVERFLOW) { return all }
            guard let names = watches[event.watch] else { return [] }
            if let name = event.name {
                return names[name].map { $0.values.map { $0.subscriber } } ?? []
            }
            return subscribers(of: CollectionOfOne(names))
        }

        var all: [InotifyRegistration] { subscribers(of: watches.values) }

        private func subscribers(of watches: some Sequence<Names>) -> [InotifyRegistration] {
            var unique: [ObjectIdentifier: InotifyRegistration] = [:]
            for names in watches {
                for subscriptions in names.values { unique.merge(subscriptions.mapValues { $0.subscriber }) { first, _ in first } }
            }
            return Array(unique.values)
        }
    }
#endif
