public import FoundationSubset

extension ObservableStore {
    /// The one store of this process for a property list, opened on first use; every path to the same file returns the same store.
    ///
    /// It exists as long as it is retained, its edits are not written yet, or the next write has to wait; see
    /// ``PropertyListFile/Configuration/writingShare``. After it is closed, the next call opens another one. The file to which a path leads
    /// is determined when this method is called: a store follows the links of the path with which it was opened. On a volume that does not
    /// distinguish case, names that differ in it are one file as soon as that exists.
    ///
    /// - Throws: ``StorageError`` if the file cannot be read.
    public static func shared(at url: URL) throws(StorageError) -> ObservableStore {
        try shared(at: url, configuration: PropertyListFile.Configuration())
    }

    // By the path of the file.
    private static let sharedStores = Lock<[ResolvedPath: WeakReference<ObservableStore>]>([:])

    /// - Parameter configuration: that of a store that is not open yet.
    static func shared(at url: URL, configuration: PropertyListFile.Configuration) throws(StorageError) -> ObservableStore {
        let known = sharedStores.withLock { Array($0.keys) }
        let path = FileSystemCalls.live.path(known, ofTheFileAt: try PropertyListFile.resolvedPath(of: url))
        if let open = sharedStores.withLock({ $0[path]?.object }), !open.isClosed { return open }
        // Opening reads the file, which is too slow inside a lock: a second thread uses the store that the first one opened.
        let backend = PropertyListFile(at: url, configuration: configuration)
        let opened = ObservableStore(backend: backend, entries: try load(backend))
        opened.synchronizer.shared.exchange(WeakReference(opened))
        // The stores are moved out of the lock: releasing the last reference to one runs its deinit.
        let (store, _) = sharedStores.take { stores in
            let alive = stores.compactMapValues(\.object)
            let known = alive[path].flatMap { $0.isClosed ? nil : $0 } ?? opened
            stores = stores.filter { alive[$0.key] != nil }
            stores[path] = WeakReference(known)
            return (known, alive)
        }
        return store
    }

    private nonisolated var isClosed: Bool {
        cache.update { $0.isClosed }
    }
}

extension FileSystemCalls {
    // A comparison is repeated if another process replaces the file meanwhile.
    private static let maximumComparisons = 4

    /// One of the known paths, if it leads to the same file as another path; that path itself otherwise.
    ///
    /// A file with several hard links has a path for each, because writing it separates them.
    func path(_ known: [ResolvedPath], ofTheFileAt path: ResolvedPath) -> ResolvedPath {
        if known.isEmpty || known.contains(path) { return path }
        do throws(SystemError) {
            for _ in 0..<Self.maximumComparisons {
                guard let file = try status(at: path), file.kind == .file, file.links == 1 else { return path }
                for other in known {
                    if try status(at: other)?.identity.isSameFile(as: file.identity) == true { return other }
                }
                if try status(at: path)?.identity.isSameFile(as: file.identity) == true { return path }
            }
        } catch {
            // Opening it reports the error.
        }
        return path
    }
}
