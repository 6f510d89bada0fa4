extension ObservableStore {
    /// The current values of several keys, and each newer combination, as a new stream for each call.
    ///
    /// ```swift
    /// for await (host, port) in store.values(of: .host, .port) { }
    /// ```
    ///
    /// The values of an element are those of one revision, so that none is half of a transaction. A slow reader receives the newest ones
    /// only; the last ones are always delivered. For a key whose stored value cannot be decoded, an element has its last valid value. Ends
    /// like ``values(of:)``.
    public nonisolated func values<First, Second, each Other>(
        of first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>
    ) -> AsyncStream<(First, Second, repeat each Other)> {
        elements(of: first, second, repeat each others)
    }
}

// The keys are captured one by one: Swift 6.3 crashes if an optimized closure uses a type that is generic over any number of types.
extension ObservableStore {
    /// The values of several keys; see ``values(of:_:_:)``.
    nonisolated func elements<First, Second, each Other>(
        of first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>,
        as valid: @escaping @Sendable (StoreSnapshot) -> StoreSnapshot = { $0 }
    ) -> AsyncStream<(First, Second, repeat each Other)> {
        elements(of: Self.list(first, second, repeat each others), as: valid) { snapshot in
            (snapshot[first], snapshot[second], repeat snapshot[each others])
        }
    }

    private static func list<First, Second, each Other>(
        _ first: StorageKey<First>, _ second: StorageKey<Second>, _ others: repeat StorageKey<each Other>
    ) -> [any AnyStorageKey] {
        var keys: [any AnyStorageKey] = [first, second]
        func append<Key: AnyStorageKey>(_ key: Key) { keys.append(key) }
        repeat append(each others)
        return keys
    }
}

extension ObservableStore {
    /// An element made of the present entries, and one after each change of some keys.
    ///
    /// - Parameter valid: returns the snapshot, or an earlier one if its values are not valid.
    nonisolated func elements<Element: Sendable>(
        of keys: [any AnyStorageKey], as valid: @escaping @Sendable (StoreSnapshot) -> StoreSnapshot,
        _ makeElement: @escaping @Sendable (StoreSnapshot) -> Element
    ) -> AsyncStream<Element> {
        let slot = LatestSlot()
        // A change fills the slot only to wake the reader, which takes the newest snapshot.
        let tokens = keys.isEmpty ? [cache.observeEnd { slot.end(keepingValue: true) }] : keys.map { observe($0, filling: slot) }
        slot.send(Box(()))
        // The number of changes of the entries at the last element, and the revision of its snapshot.
        let last = Lock<(changes: UInt64, revision: UInt64)?>(nil)
        let names = keys.map(\.entryName)
        return AsyncStream { [cache] in
            defer { withExtendedLifetime(tokens) {} }
            while await slot.next() != nil {
                let (values, layers, changes) = cache.snapshot(countingChangesOf: names)
                let before = last.withLock { $0 }
                if before?.changes == changes { continue }
                let snapshot = valid(StoreSnapshot(values, layers, of: cache))
                last.withLock { $0 = (changes, snapshot.revision) }
                // An earlier snapshot, which replaces one that is not valid, may have been an element before.
                if snapshot.revision == values.revision || before?.revision != snapshot.revision { return makeElement(snapshot) }
            }
            return nil
        } onCancel: {
            for token in tokens { token.cancel() }
            slot.end(keepingValue: false)
        }
    }

    private nonisolated func observe(_ key: some AnyStorageKey, filling slot: LatestSlot) -> ObservationToken {
        observe(key.storageKey, .slot(slot))
    }
}
