#if canImport(Darwin)
    import FoundationSubset

    extension ObservableStore {
        /// Opens the store of an application and its extensions: `NAME.plist` in Application Support of their app group's container, on tvOS
        /// in Caches, where the system may remove it.
        ///
        /// The store writes its edits when the application, or the host of the extension, enters the background. Edits that are made there,
        /// as by an application that plays audio, are written during a background assertion. If the system refuses one, because it is about
        /// to suspend the process, they wait in memory, and are tried again while the process runs and in the foreground.
        ///
        /// While the file cannot be opened, as before the device is first unlocked after a restart, values are kept in memory; see
        /// ``availability``.
        ///
        /// - Parameters:
        ///   - group: the identifier of the group, such as `group.com.example.app`.
        ///   - name: the name of the file, without its extension.
        ///   - access: whether the store writes the file; an extension that only reads uses `.readOnly`. Nil for what the configuration says.
        ///   - configuration: how the file is read, written and protected.
        /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if the process has no container for the group.
        public init(
            appGroup group: String, name: String = "settings", access: StorageAccess? = nil,
            configuration: PropertyListFile.Configuration = PropertyListFile.Configuration()
        ) throws(StorageError) {
            let container = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: group)
            let file = try SystemRules.ofProcess.file(name, ofAppGroup: group, in: container)
            self.init(backend: PropertyListFile(at: file, access: access, configuration: configuration), layersIfReadable: LayerFiles())
        }
    }
#endif
