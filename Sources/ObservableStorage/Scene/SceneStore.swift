public import Dispatch

/// The values of one scene: a window, a tab, a session that has values of its own and otherwise those of the application.
///
/// Reading a key gives what the scene has set, or else what the application has stored, or else registered, or else the key's default.
/// Writing and removing stay in the scene. Scenes share a store, and so its file, its flushes and its order of changes; what a scene has
/// set is stored under `scenes/ID/NAME`.
///
/// ```swift
/// let scene = SceneStore(sceneID: "main", base: store)
/// scene[.volume] = 0.3
/// scene.stored(.volume).values
/// let settings = KeyedStore<AppKeys>(scene)
/// ```
public struct SceneStore: Sendable {
    /// Tells the scene from others; the same text is the same scene, also after the process has been started again.
    public let sceneID: String
    /// The store that holds the values of the application and of every scene.
    public let base: ObservableStore
    /// Whether what is set in this scene becomes the application's value too, which scenes without one of their own have.
    public var writesThrough: Bool { keys.scope.writesThrough }

    private let keys: ScopedKeys

    /// Sees a store as a scene does.
    ///
    /// - Parameters:
    ///   - sceneID: tells the scene from others; any text.
    ///   - base: holds the values.
    ///   - writesThrough: whether what is set becomes the application's value too, so that new scenes start from what was last set in this one.
    public init(sceneID: String, base: ObservableStore = .standard, writesThrough: Bool = false) {
        self.sceneID = sceneID
        self.base = base
        keys = ScopedKeys(KeyScope(prefix: Self.prefix(sceneID), writesThrough: writesThrough))
    }

    static func prefix(_ sceneID: String) -> KeyPrefix {
        KeyPrefix(["scenes", sceneID])
    }

    /// A key as this scene has it.
    private func scoped<Value>(_ key: StorageKey<Value>) -> StorageKey<Value> {
        keys.scoped(key)
    }

    /// Where this scene's keys have values of their own.
    var scope: KeyScope { keys.scope }

    /// Whether another value is the same scene.
    func isSame(as other: SceneStore) -> Bool {
        base === other.base && keys.scope == other.keys.scope
    }

    /// The handle to a key's value in this scene; everything that a stored value can do, this one can.
    public func stored<Value>(_ key: StorageKey<Value>) -> StoredValue<Value> {
        base.stored(scoped(key))
    }

    /// Removes everything that the scene has set, as one revision, so that it has the application's values again.
    public func reset() {
        base.discard(sceneID: sceneID)
    }
}

/// The keys of a scope, made once.
private final class ScopedKeys: Sendable {
    let scope: KeyScope
    // By the number of the application's key, and of its type.
    private let made = Guarded<[UInt64: KeyReference]>([:])

    // Keys may be made without end.
    private static let most = 1_000

    init(_ scope: KeyScope) {
        self.scope = scope
    }

    func scoped<Value>(_ key: StorageKey<Value>) -> StorageKey<Value> {
        let id = key.definition.id
        if let known = made.withLock({ $0[id] }) { return StorageKey(unsafeDowncast(known, to: KeyDefinition<Value>.self)) }
        let scoped = key.scoped(to: scope)
        return made.withLock { made in
            // Somebody else may have been faster: there is one for all.
            if let known = made[id] { return StorageKey(unsafeDowncast(known, to: KeyDefinition<Value>.self)) }
            if made.count < Self.most { made[id] = scoped.definition }
            return scoped
        }
    }
}

extension SceneStore: ValueAccess {
    /// The value of a key in this scene, as ``ObservableStore/subscript(_:)`` has it.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        get { base[scoped(key)] }
        nonmutating set { base[scoped(key)] = newValue }
        nonmutating _modify { yield &base[scoped(key)] }
    }
}

extension ObservableStore {
    /// Removes everything that a scene has set, as one revision: for scenes that will not come back.
    public nonisolated func discard(sceneID: String) {
        reset(under: SceneStore.prefix(sceneID))
    }
}

extension SceneStore {
    /// The value of a key in this scene; see ``ObservableStore/value(for:)``.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        try base.value(for: scoped(key))
    }

    /// Sets a key's value in this scene; see ``ObservableStore/set(_:for:muting:)``.
    public func set<Value>(
        _ value: Value, for key: StorageKey<Value>, muting token: ObservationToken? = nil
    ) throws(StorageError) {
        try base.set(value, for: scoped(key), muting: token)
    }

    /// Removes what this scene has set for a key, so that it has the application's value again; other scenes keep theirs.
    public func remove<Value>(_ key: StorageKey<Value>, muting token: ObservationToken? = nil) {
        base.remove(scoped(key), muting: token)
    }

    /// Whether this scene has set a value for a key.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        base.isSet(scoped(key))
    }

    /// A key's value in this scene now and each newer one, the application's included while the scene has none of its own; see
    /// ``ObservableStore/values(of:)``.
    public func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value> {
        base.values(of: scoped(key))
    }

    /// Every change of a key as this scene sees it; see ``ObservableStore/changes(of:bufferingPolicy:)``.
    public func changes<Value>(
        of key: StorageKey<Value>, bufferingPolicy: AsyncStream<Change<Value>>.Continuation.BufferingPolicy = .unbounded
    ) -> AsyncStream<Change<Value>> {
        base.changes(of: scoped(key), bufferingPolicy: bufferingPolicy)
    }

    /// Calls a closure with each change of a key as this scene sees it; see ``ObservableStore/addUpdateListener(for:initial:on:_:)``.
    public func addUpdateListener<Value>(
        for key: StorageKey<Value>, initial: Bool = false, on queue: DispatchQueue? = nil,
        _ listener: @escaping @Sendable (Change<Value>) -> Void
    ) -> ObservationToken {
        base.addUpdateListener(for: scoped(key), initial: initial, on: queue, listener)
    }
}

extension KeyedStore {
    /// Sees a scene through a group of keys: each key has the scene's value, or else the application's.
    ///
    /// - Parameters:
    ///   - scene: holds the values.
    ///   - prefix: what every name begins with, before a `/`.
    ///   - transform: transforms each key's name: `{ $0.lowercased() }`.
    public init(_ scene: SceneStore, prefix: String? = nil, naming transform: (@Sendable (String) -> String)? = nil) {
        self.init(scene.base, naming: KeyNaming(prefix: prefix, scope: scene.scope, transform: transform))
    }
}
