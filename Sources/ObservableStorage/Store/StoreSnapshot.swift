public import FoundationSubset
public import PropertyListCoding

/// The entries of a store at one revision: all changes of a transaction, or none of them.
///
/// A snapshot never changes, and reading it accesses memory only. It shares its values with the store and with other snapshots.
public struct StoreSnapshot: Sendable {
    private var stored: EntryValues
    private var layers: ValueLayers
    let cache: EntryCache
    private var isReported = true
    private(set) var reads: SnapshotReads?
    /// The reason why the latest values of a group are not valid together, if this snapshot is used instead.
    package private(set) var groupFailure: StorageError?

    init(_ stored: EntryValues, _ layers: ValueLayers, of cache: EntryCache) {
        self.stored = stored
        self.layers = layers
        self.cache = cache
    }

    init(of cache: EntryCache) {
        let (values, layers, _) = cache.snapshot()
        self.init(values, layers, of: cache)
    }

    var overrides: [OverrideSource] { layers.overrides.sources }

    var withoutOverrides: StoreSnapshot {
        with { $0.layers.overrides = .none }
    }

    /// The same snapshot, whose values that cannot be decoded are reported to nobody: the caller has their errors.
    var unreported: StoreSnapshot {
        with { $0.isReported = false }
    }

    /// The snapshot of what is stored, without any other values.
    var withoutLayers: StoreSnapshot {
        with { $0.layers = ValueLayers() }
    }

    /// The same snapshot, which collects the names of the entries that are read.
    func collecting(in reads: SnapshotReads) -> StoreSnapshot {
        with { $0.reads = reads }
    }

    /// The snapshot of some entries and of those that were read, without retaining the others; of all if all were read.
    func only(_ names: Set<String>, and reads: SnapshotReads) -> StoreSnapshot {
        guard let read = reads.names.withLock({ $0 }) else { return self }
        return with { ($0.stored, $0.reads) = (stored.only(names.union(read)), nil) }
    }

    /// The snapshot with the values of an earlier one, because its own are not valid together.
    func replaced(by earlier: StoreSnapshot, because failure: StorageError) -> StoreSnapshot {
        with { ($0.stored, $0.layers, $0.groupFailure) = (stored.replacing(earlier.stored), earlier.layers, failure) }
    }

    private func with(_ change: (inout StoreSnapshot) -> Void) -> StoreSnapshot {
        var snapshot = self
        change(&snapshot)
        return snapshot
    }

    /// The number of changes in memory between the opening of the store and that time; a transaction counts as one.
    public var revision: UInt64 { stored.revision }

    /// All stored values by name.
    public var entries: [String: PropertyListValue] {
        reads?.insert(nil)
        return stored.all
    }

    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// If the stored value cannot be decoded, this is the last valid value before it, or else the value used while none is stored.
    public subscript<Value>(key: StorageKey<Value>) -> Value {
        read(key).value
    }

    /// The value of a key: the stored value, or else the registered one, or else the key's default.
    ///
    /// - Throws: ``StorageError/undecodable(key:expected:found:underlying:)`` if the stored value is not of the key's type.
    public func value<Value>(for key: StorageKey<Value>) throws(StorageError) -> Value {
        let (value, failure) = read(key)
        if let failure { throw failure }
        return value
    }

    /// Whether a value is stored for a key, including under an earlier name, whether it can be decoded or not.
    public func isSet<Value>(_ key: StorageKey<Value>) -> Bool {
        reads?.insert(key.definition.entryName.all)
        return key.definition.entryName.isStored { stored[$0] }
    }

    private func read<Value>(_ key: StorageKey<Value>) -> (value: Value, failure: StorageError?) {
        let name = key.definition.entryName
        reads?.insert(name.all)
        let entry = layers.entry(name) { stored[$0] }
        let (value, failure, _) = key.value(
            of: entry, { stored throws(StorageError) in try cache.decoded(stored, for: key) },
            orLastOf: { stored.earlier(name, in: layers) })
        // A value that was replaced meanwhile was reported when it was stored, if it was observed.
        if let failure { cache.recordFailure(failure, of: key, in: entry, isReported: isReported) }
        return (value, failure)
    }
}

/// The names of the entries that a rule has read of a snapshot, on which its result depends.
final class SnapshotReads: Sendable {
    /// Nil if it has read all.
    let names = Lock<Set<String>?>([])
    private let outer: SnapshotReads?

    /// - Parameter outer: those of the rule of an outer group, which has read the values of this one.
    init(inside outer: SnapshotReads? = nil) {
        self.outer = outer
    }

    /// - Parameter read: nil for all entries.
    func insert(_ read: [String]?) {
        names.withLock { names in
            if let read { names?.formUnion(read) } else { names = nil }
        }
        outer?.insert(read)
    }
}

extension StoreSnapshot: CustomReflectable {
    /// The revision and the entries, without secrets; see ``StorageKey/secret()``.
    public var customMirror: Mirror {
        Mirror(self, children: ["revision": revision, "entries": SecretNames.redacted(entries)], displayStyle: .struct)
    }
}

extension ObservableStore {
    /// All entries at one revision.
    public nonisolated var snapshot: StoreSnapshot {
        StoreSnapshot(of: cache)
    }

    /// Reads the property list at a URL once, for a tool that reads and ends: no store is opened, nothing is watched, locked or written.
    ///
    /// ```swift
    /// let settings = try ObservableStore.read(at: url).checked(as: AppKeys.self)
    /// print(settings.port)
    /// ```
    ///
    /// Edits that another process has not written yet are not seen.
    ///
    /// - Parameters:
    ///   - url: the file; a missing one has no entries, unless the configuration requires it to exist.
    ///   - defaults: files of default values, those with precedence first; missing files have none.
    ///   - mandatory: files of mandatory values, those with precedence first.
    ///   - configuration: how the file is read; it is not written in any case.
    ///   - overrides: sources of values that hide stored ones, those with precedence first; see ``OverrideSource``.
    /// - Returns: the entries; ``StoreSnapshot/checked(as:prefix:allowing:naming:)`` makes them typed.
    /// - Throws: ``StorageError`` naming the file that cannot be read.
    public static func read(
        at url: URL, defaults: [URL] = [], mandatory: [URL] = [],
        configuration: PropertyListFile.Configuration = PropertyListFile.Configuration(), overrides: [OverrideSource] = []
    ) throws(StorageError) -> StoreSnapshot {
        try StoreSnapshot(
            reading: PropertyListFile(at: url, access: .readOnly, configuration: configuration),
            LayerFiles(
                defaults: defaults.map { PropertyListFile(at: $0, access: .readOnly) },
                mandatory: mandatory.map { PropertyListFile(at: $0, access: .readOnly) }), overrides)
    }

    /// Reads the file of a suite once, for configuration with those of administrators; see
    /// ``read(at:defaults:mandatory:configuration:overrides:)`` and ``init(suiteName:kind:configuration:overrides:)``.
    public static func read(
        suiteName: String, kind: SuiteKind = .configuration, overrides: [OverrideSource] = []
    ) throws(StorageError) -> StoreSnapshot {
        let configuration = PropertyListFile.Configuration().with(access: .readOnly)
        let (defaults, mandatory) = PropertyListFile.administratorsFiles(ofSuite: suiteName, kind: kind)
        return try StoreSnapshot(
            reading: PropertyListFile(suiteName: suiteName, kind: kind, configuration: configuration),
            LayerFiles(defaults: defaults, mandatory: mandatory), overrides)
    }
}

extension StoreSnapshot {
    /// Reads storages that nobody watches.
    fileprivate init(
        reading backend: any BlockingStorageBackend, _ layers: LayerFiles, _ overrides: [OverrideSource]
    ) throws(StorageError) {
        try layers.load()
        let entries = try ObservableStore.load(backend)
        // Its queue runs nothing, so that no thread is started.
        let cache = EntryCache(entries: entries.stored, executor: DispatchQueueExecutor(label: "ObservableStore.read"))
        cache.open(overrides)
        cache.deliver(layers.changes(in: cache))
        self.init(of: cache)
    }
}

extension EntryCache {
    /// The entries at the present revision.
    ///
    /// - Parameter names: the names of some keys, of which the number of changes is returned.
    func snapshot(countingChangesOf names: [EntryName] = []) -> (values: EntryValues, layers: ValueLayers, changes: UInt64) {
        let (values, layers, changes, _) = take { state in
            let (values, replaced, stale) = state.entries.values(at: state.revision)
            let entries = names.flatMap(\.all)
            let changes = entries.reduce(0) { $0 + (state.entries.entry($1)?.version ?? 0) }
            return (values, state.layers, changes, (replaced, stale))
        }
        return (values, layers, changes)
    }

    /// Decodes a stored value; the result is cached if it is the present one of the store.
    func decoded<Value>(_ stored: PropertyListValue, for key: StorageKey<Value>) throws(StorageError) -> Value {
        guard !key.definition.traits.codec.isNative else { return try key.decoded(stored) }
        let found = read(key.definition.entryName, as: nil)
        guard found.entry.present == stored else { return try key.decoded(stored) }
        return try found.decoded(stored, for: key)
    }
}
