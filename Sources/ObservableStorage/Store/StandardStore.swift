import FoundationSubset

// The stores of the standard folder for settings.
extension ObservableStore {
    /// Opens the store of a suite in the standard folder for settings: `NAME.plist` in the configuration folder on Linux, which is the file
    /// of `UserDefaults(suiteName:)` there except in a service, and in Application Support on Apple's systems. `prefs read NAME` reads the same
    /// file, and `prefs read NAME --state` that of state. On tvOS it is in Caches, the only folder that applications have there, from which the
    /// system may remove it: ``durability`` is ``EditDurability/purgeable``.
    ///
    /// ```swift
    /// let recent = ObservableStore(suiteName: "org.example.editor", kind: .state)
    /// ```
    ///
    /// On Linux, administrators can provide defaults in `NAME.plist` and mandatory values in `NAME.mandatory.plist`, in the folders of
    /// `$XDG_CONFIG_DIRS`, by default `/etc/xdg`; see ``init(backend:defaults:mandatory:overrides:)``.
    ///
    /// In a service of systemd, it is in the service's state folder, see <doc:Services>.
    ///
    /// If it cannot be opened, values are kept in memory until it can: ``flush(to:)`` throws the reason, ``failures`` reports it, and
    /// ``availability`` changes after it was opened.
    ///
    /// - Parameters:
    ///   - suiteName: the name of the suite. A store whose name is empty, `.` or `..`, or contains `/` or NUL, cannot be opened.
    ///   - kind: what is stored; administrators provide no values of state.
    ///   - configuration: how its file is read, written and protected.
    ///   - overrides: sources of values that hide stored ones in this process, those with precedence first; see ``OverrideSource``.
    public init(
        suiteName: String, kind: SuiteKind = .configuration,
        configuration: PropertyListFile.Configuration = PropertyListFile.Configuration(), overrides: [OverrideSource] = []
    ) {
        let (defaults, mandatory) = PropertyListFile.administratorsFiles(ofSuite: suiteName, kind: kind)
        self.init(
            backend: PropertyListFile(suiteName: suiteName, kind: kind, configuration: configuration),
            layersIfReadable: LayerFiles(defaults: defaults, mandatory: mandatory), overrides: overrides)
    }

    /// The application's own store, opened on first use in the standard folder for settings:
    /// ``init(suiteName:kind:configuration:overrides:)`` with the application's name.
    ///
    /// If it cannot be opened, values are kept in memory until it can; see ``availability``.
    ///
    /// In a test process (Swift Testing, XCTest) or a preview in Xcode it is in memory, so that tests neither read nor change the settings
    /// of the user. The environment variable `OBSERVABLE_STORAGE_STANDARD` overrides this: `file` or `memory`. For a store of its own, a
    /// test uses `withStandard`.
    public static var standard: ObservableStore {
        standardOfTask ?? standardOfProcess
    }

    /// Opens the ``standard`` store of the process with overrides. Call it when the program starts, before anything uses that store.
    ///
    /// ```swift
    /// try ObservableStore.openStandard(overrides: [.arguments()])
    /// ```
    ///
    /// - Parameter overrides: sources of values that hide stored ones, those with precedence first; see ``OverrideSource``.
    /// - Throws: ``StorageError/invalidConfiguration(item:reason:remedy:)`` if the store is open already.
    @discardableResult
    public static func openStandard(overrides: [OverrideSource]) throws(StorageError) -> ObservableStore {
        let isFirst = standardOpening.withLock { opening in
            if opening.isOpen { return false }
            opening = (true, overrides)
            return true
        }
        guard isFirst else {
            throw .invalidConfiguration(
                item: "the overrides of the standard store", reason: "it is open already",
                remedy: "call openStandard(overrides:) before anything uses it")
        }
        return standardOfProcess
    }

    /// Runs a closure for which ``standard`` is another store, also in the tasks that it starts, except detached ones.
    ///
    /// ```swift
    /// try ObservableStore.withStandard(ObservableStore(backend: InMemoryBackend())) {
    ///     #expect(Player().volume == 0.8)
    /// }
    /// ```
    ///
    /// Other tasks are not affected, so that tests with different stores can run in parallel. A property (`@Persisted`) retains the store that
    /// was the standard one when its instance was created.
    public static func withStandard<Result>(_ store: ObservableStore, _ body: () throws -> Result) rethrows -> Result {
        try $standardOfTask.withValue(store, operation: body)
    }

    /// Runs an asynchronous closure for which ``standard`` is another store.
    public static func withStandard<Result>(
        _ store: ObservableStore, isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Result
    ) async rethrows -> Result {
        try await $standardOfTask.withValue(store, operation: body, isolation: isolation)
    }
}

extension ObservableStore {
    @TaskLocal private static var standardOfTask: ObservableStore?

    // Whether the store of the process is open, and its overrides.
    private static let standardOpening = Lock<(isOpen: Bool, overrides: [OverrideSource])>((false, []))

    private static let standardOfProcess: ObservableStore = {
        let overrides = standardOpening.withLock { opening in
            opening.isOpen = true
            return opening.overrides
        }
        let process = ProcessInfo.processInfo
        guard isStandardInMemory(executable: CommandLine.arguments.first ?? "", environment: process.environment) else {
            return ObservableStore(suiteName: SettingsFolder.applicationDomain, overrides: overrides)
        }
        return ObservableStore(backend: InMemoryBackend(), entries: StorageEntries(), overrides: overrides)
    }()

    /// Whether the standard store is in memory: in a test process or a preview, unless the environment states otherwise.
    ///
    /// - Parameters:
    ///   - executable: the path of the program: SwiftPM runs tests in `NAME.xctest` on Linux; Apple's runners load a bundle.
    ///   - environment: the variables of the process; Xcode describes a test or a preview in its own.
    static func isStandardInMemory(executable: String, environment: [String: String]) -> Bool {
        switch environment["OBSERVABLE_STORAGE_STANDARD"] {
        case "memory": return true
        case "file": return false
        default: break
        }
        if environment["XCODE_RUNNING_FOR_PREVIEWS"] == "1" || environment["XCTestConfigurationFilePath"] != nil { return true }
        let program = executable.split(separator: "/").last ?? ""
        return program.hasSuffix(".xctest") || program == "xctest" || program == "swiftpm-testing-helper"
    }
}
