public import Foundation
import Synchronization

extension ObservableStore {
    private struct Reference: Sendable {
        weak var store: ObservableStore?
    }

    private static let sharedStores = Mutex<[String: Reference]>([:])

    /// The one store of this process for a property list, opened on first use; every path to the same file gives the same store.
    ///
    /// It lives as long as somebody keeps it.
    ///
    /// - Throws: ``StorageError`` when the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        let path = try PropertyListFile.canonicalPath(url)
        if let open = sharedStores.withLock({ $0[path]?.store }) { return open }
        // Opening reads the file, which takes too long for a lock: whoever comes second uses what the first one opened.
        let opened = try ObservableStore(at: URL(fileURLWithPath: path))
        return sharedStores.withLock { stores in
            if let open = stores[path]?.store { return open }
            stores = stores.filter { $0.value.store != nil }
            stores[path] = Reference(store: opened)
            return opened
        }
    }
}
