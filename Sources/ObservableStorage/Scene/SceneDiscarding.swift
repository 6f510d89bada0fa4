extension ObservableStore {
    /// Removes all values of a scene, as ``reset()`` does, for a scene that has ended.
    ///
    /// Every ``SceneStore`` of the scene, its handles and groups of keys, and the ``SceneStored`` properties of existing objects can no
    /// longer set values there, because nothing would ever remove them. Throwing setters throw ``StorageError/discardedScene(key:)``,
    /// others report it in ``failures``; with `writesThrough`, they do not set the application's value either. Values that a running
    /// transaction has set in the scene are removed when it ends. Observers remain, and receive the application's values.
    ///
    /// A `SceneStore` that is created afterwards opens the scene again, for itself. Use ``SceneStore/reset()`` for a scene that goes on
    /// without its values. Only this store refuses values: another process that uses the scene still sets them. Nor does it refuse those of
    /// objects that are kept after many others were discarded: it knows at least the last 1,000 scenes, and at most 2,000.
    public nonisolated func discard(sceneID: String) {
        let prefix = SceneStore.prefix(sceneID)
        discard(prefix) { prefix.contains($0) ? prefix : nil }
    }

    /// Removes, as ``reset()`` does, all values of every scene that is not listed, for scenes that ended while the application was not running.
    ///
    /// Scenes that only another process uses have to be listed as well. A discarded scene accepts no values; see ``discard(sceneID:)``.
    public nonisolated func discardScenes(except sceneIDs: some Sequence<String>) {
        let kept = Set(sceneIDs)
        discardScenes { !kept.contains($0) }
    }

    /// Removes all values of every scene without one of the sessions, except those of `storedScene()`, which have no session's identifier.
    nonisolated func discardScenes(exceptSessions sessionIDs: some Sequence<String>) {
        let kept = Set(sessionIDs)
        discardScenes { !kept.contains($0) && !$0.hasPrefix(SceneStore.prefixOfViews) }
    }

    private nonisolated func discardScenes(where isDiscarded: @escaping @Sendable (String) -> Bool) {
        discard { name in KeyScope.sceneID(ofEntry: name).flatMap { isDiscarded($0) ? SceneStore.prefix($0) : nil } }
    }

    /// The identifiers of the scenes with stored values, in no particular order.
    public nonisolated var sceneIDs: Set<String> {
        Set(entries.keys.compactMap(KeyScope.sceneID(ofEntry:)))
    }
}

extension SceneStore {
    /// Begins the identifiers of `storedScene()`, which are no sessions'.
    static let prefixOfViews = "SwiftUI."
}
