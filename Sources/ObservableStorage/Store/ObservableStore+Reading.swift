public import FoundationSubset

extension ObservableStore {
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
        var configuration = configuration
        configuration.access = .readOnly
        return try StoreSnapshot(
            reading: PropertyListFile(at: url, configuration: configuration),
            LayerFiles(
                defaults: defaults.map { PropertyListFile(at: $0, access: .readOnly) },
                mandatory: mandatory.map { PropertyListFile(at: $0, access: .readOnly) }), overrides)
    }

    /// Reads the file of a suite once, for configuration with those of administrators; see
    /// ``read(at:defaults:mandatory:configuration:overrides:)`` and ``init(suiteName:kind:configuration:overrides:)``.
    public static func read(
        suiteName: String, kind: SuiteKind = .configuration, overrides: [OverrideSource] = []
    ) throws(StorageError) -> StoreSnapshot {
        let configuration = PropertyListFile.Configuration(access: .readOnly)
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
        try layers.load { error throws(StorageError) in throw error }
        let entries = try ObservableStore.load(backend)
        // Its queue runs nothing, so that no thread is started.
        let cache = EntryCache(entries: entries.stored, executor: DispatchQueueExecutor(label: "ObservableStore.read"))
        cache.open(overrides)
        layers.apply(to: cache)
        self.init(of: cache, FailureReports())
    }
}
