import PropertyListCoding

/// The values of one scene (a window, a tab or a session), which inherits the application's values until it sets its own.
///
/// Reading a key returns the scene's value, or else the application's stored value, the registered value, or the key's default.
/// Writing and removing affect the scene only. Scenes share a store with its file, flushes and order of changes; a scene's values are
/// stored under `scenes/ID/NAME`.
///
/// A key that is set to nil is nil in the scene, whatever the application's value, registered value or default is.
/// ``StoredValue/remove(muting:)`` and ``reset()`` inherit again. Nil is stored as the string `$null`, as in a keyed archive; a string that
/// is equal to it cannot be set in a scene.
///
/// After ``ObservableStore/discard(sceneID:)``, neither this instance nor its handles can set values. A `SceneStore` created afterwards
/// opens the scene again.
///
/// ```swift
/// let scene = SceneStore(sceneID: "main", base: store)
/// scene[.volume] = 0.3
/// scene.stored(.volume).values
/// let settings = KeyedStore<AppKeys>(scene)
/// ```
public struct SceneStore: Sendable {
    /// Identifies the scene; the same text is the same scene, also after the process was restarted.
    public let sceneID: String
    /// The store with the values of the application and of every scene.
    public let base: ObservableStore

    private let keys: ScopedKeys

    /// Creates access to a store for a scene.
    ///
    /// - Parameters:
    ///   - sceneID: identifies the scene; any text.
    ///   - base: the store with the values.
    ///   - writesThrough: whether a value set here also becomes the application's value, so that new scenes start with it.
    public init(sceneID: String, base: ObservableStore = .standard, writesThrough: Bool = false) {
        self.sceneID = sceneID
        self.base = base
        let prefix = Self.prefix(sceneID)
        let generation = base.cache.update { $0.discardedScopes.generation(of: prefix) }
        keys = ScopedKeys(KeyScope(prefix: prefix, writesThrough: writesThrough, generation: generation))
    }

    static func prefix(_ sceneID: String) -> KeyPrefix {
        KeyPrefix([KeyScope.folder, sceneID])
    }

    var scope: KeyScope { keys.scope }

    func isSame(as other: SceneStore) -> Bool {
        base === other.base && keys.scope == other.keys.scope
    }

    /// The handle to a key's value in this scene.
    ///
    /// Removing the value inherits the application's again; other scenes keep theirs. Streams and listeners of the handle receive the
    /// application's value while the scene has none of its own, or none that was ever valid.
    public func stored<Value>(_ key: StorageKey<Value>) -> StoredValue<Value> {
        base.stored(keys.scoped(key))
    }

    /// The handle of an object, which cannot set the value if the scene was discarded after the object was created, and took that number.
    func stored<Value>(_ key: StorageKey<Value>, ofObjectCreatedAt number: UInt64) -> StoredValue<Value> {
        guard scope.generation > number else { return stored(key) }
        var scope = scope
        scope.generation = number
        return base.stored(key.scoped(to: scope))
    }

    /// Copies the entries of another storage into this scene, once: those of the file or domain that the scene had in an earlier version.
    ///
    /// Values that the scene already has are kept, and the application's are not changed; see
    /// ``ObservableStore/importEntries(from:once:naming:)``.
    ///
    /// - Parameters:
    ///   - backend: the other storage, which is not changed.
    ///   - name: identifies this import; an import into this scene that was made under the same name is not repeated.
    ///   - transform: the name of an entry in this scene; nil for an entry that is not copied.
    /// - Throws: ``StorageError`` if the other storage cannot be read or the store cannot be written, or the scene was discarded.
    public nonisolated(nonsending) func importEntries(
        from backend: any StorageBackend, once name: String, naming transform: @Sendable (String) -> String? = { $0 }
    ) async throws {
        let prefix = scope.prefix
        try await base.importEntries(from: backend, once: prefix.name(name), in: scope) { transform($0).map(prefix.name) }
    }

    /// Removes all values of the scene, as ``ObservableStore/reset()`` does, so that it inherits the application's values again.
    ///
    /// The scene goes on; see ``ObservableStore/discard(sceneID:)`` for one that has ended.
    public func reset() {
        base.reset(under: scope.prefix)
    }
}

/// The keys of a scope, created once.
private final class ScopedKeys: Sendable {
    let scope: KeyScope
    // By the identity of the application's key, and its type.
    private let keys = Lock<[UInt64: KeyReference]>([:])

    // The number of keys is not limited.
    private static let limit = 1_000

    init(_ scope: KeyScope) {
        self.scope = scope
    }

    func scoped<Value>(_ key: StorageKey<Value>) -> StorageKey<Value> {
        let scoped = keys.object(of: key.definition.id, limit: Self.limit) { key.scoped(to: scope).definition }
        return StorageKey(unsafeDowncast(scoped, to: KeyDefinition<Value>.self))
    }
}

extension SceneStore: KeyValueAccess {
    /// The value of a key in this scene; see ``ObservableStore/subscript(_:)``.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        get { base[keys.scoped(key)] }
        nonmutating set { base[keys.scoped(key)] = newValue }
        nonmutating _modify { yield &base[keys.scoped(key)] }
    }

    /// Removes this scene's value of a name, so that it inherits the application's again.
    public func removeValue(forKey name: String) {
        stored(StorageKey<PropertyListValue?>(name)).remove()
    }
}

extension KeyedStore {
    /// Accesses a scene through a group of keys: each key has the scene's value, or else the application's.
    ///
    /// - Parameters:
    ///   - scene: the scene with the values.
    ///   - prefix: the prefix of every name, followed by a `/`.
    ///   - transform: transforms each key's name: `{ $0.lowercased() }`.
    public init(_ scene: SceneStore, prefix: String? = nil, naming transform: (@Sendable (String) -> String)? = nil) {
        self.init(scene.base, naming: KeyNaming(prefix: prefix, scope: scene.scope, transform: transform))
    }
}
