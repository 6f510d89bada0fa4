extension ObservableStore {
    /// Removes all values of a scene in one revision, for scenes that will not be used again.
    public nonisolated func discard(sceneID: String) {
        reset(under: SceneStore.prefix(sceneID))
    }

    /// Removes all values of every scene that is not listed in one revision, for scenes that ended while the application was not running.
    ///
    /// Scenes that only another process uses have to be listed as well.
    public nonisolated func discardScenes(except sceneIDs: some Sequence<String>) {
        let kept = Set(sceneIDs)
        discardScenes { !kept.contains($0) }
    }

    /// Removes all values of every scene without one of the sessions, except those of `storedScene()`, which have no session's identifier.
    nonisolated func discardScenes(exceptSessions sessionIDs: some Sequence<String>) {
        let kept = Set(sessionIDs)
        discardScenes { !kept.contains($0) && !$0.hasPrefix(SceneStore.prefixOfViews) }
    }

    private nonisolated func discardScenes(where isDiscarded: (String) -> Bool) {
        reset { name in SceneStore.sceneID(ofEntry: name).map(isDiscarded) ?? false }
    }

    /// The identifiers of the scenes with stored values, in no particular order.
    public nonisolated var sceneIDs: Set<String> {
        Set(entries.keys.compactMap(SceneStore.sceneID(ofEntry:)))
    }
}

extension SceneStore {
    /// Begins the identifiers of `storedScene()`, which are no sessions'.
    static let prefixOfViews = "SwiftUI."

    /// The identifier of the scene to which the entry of a name belongs; nil if it belongs to none.
    static func sceneID(ofEntry name: String) -> String? {
        // By bytes: the text after a separator can begin with a combining mark, which forms one character with it.
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual(KeyScope.folder.utf8) else { return nil }
        let sceneID = KeyPrefix.unescaped(String(Substring(parts[1])))
        // A name that this library does not write belongs to no scene.
        return sceneID.flatMap { prefix($0).contains(name) ? $0 : nil }
    }
}
