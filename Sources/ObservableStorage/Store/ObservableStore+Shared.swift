public import Foundation

extension ObservableStore {
    private struct Reference: Sendable {
        weak var store: ObservableStore?
    }

    private static let sharedStores = Guarded<[ResolvedPath: Reference]>([:])

    /// The one store of this process for a property list, opened on first use; every path to the same file gives the same store.
    ///
    /// It lives as long as somebody keeps it; once it is closed, the next call opens another one. Which file a path leads to is
    /// decided when this is called: a store follows the links of the path that it was opened with.
    ///
    /// - Throws: ``StorageError`` when the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        let place = try PropertyListFile.place(of: url)
        if let open = openStore(at: place) { return open }
        // Opening reads the file, which takes too long for a lock: whoever comes second uses what the first one opened.
        let opened = try ObservableStore(at: url)
        return openStore(at: place, or: opened)
    }

    private static func openStore(at place: ResolvedPath) -> ObservableStore? {
        let store = sharedStores.withLock { $0[place]?.store }
        return store.flatMap { $0.isClosed ? nil : $0 }
    }

    private static func openStore(at place: ResolvedPath, or opened: ObservableStore) -> ObservableStore {
        // The stores are taken out of the lock: whoever releases a store last ends it.
        let (store, _) = sharedStores.take { stores in
            let alive = stores.compactMapValues(\.store)
            let known = alive[place].flatMap { $0.isClosed ? nil : $0 } ?? opened
            stores = stores.filter { alive[$0.key] != nil }
            stores[place] = Reference(store: known)
            return (known, alive)
        }
        return store
    }

    private nonisolated var isClosed: Bool {
        memory.update { $0.isClosed }
    }
}
