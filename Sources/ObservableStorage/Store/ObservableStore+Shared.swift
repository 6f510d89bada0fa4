public import Foundation

extension ObservableStore {
    private struct Reference: Sendable {
        weak var store: ObservableStore?
    }

    private static let sharedStores = Guarded<[ResolvedPath: Reference]>([:])

    /// The one store of this process for a property list, opened on first use; every path to the same file gives the same store.
    ///
    /// It lives as long as somebody keeps it.
    ///
    /// - Throws: ``StorageError`` when the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        let place = try PropertyListFile.place(of: url)
        if let open = sharedStores.withLock({ $0[place]?.store }) { return open }
        // Opening reads the file, which takes too long for a lock: whoever comes second uses what the first one opened.
        let opened = try ObservableStore(at: URL(fileURLWithPath: place.path))
        return sharedStores.withLock { stores in
            if let open = stores[place]?.store { return open }
            stores = stores.filter { $0.value.store != nil }
            stores[place] = Reference(store: opened)
            return opened
        }
    }
}
