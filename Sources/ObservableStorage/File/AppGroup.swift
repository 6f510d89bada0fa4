import FoundationSubset

/// An app group: an application and its extensions, which share the files in one container.
struct AppGroup {
    /// The identifier, such as `group.com.example.app`.
    let identifier: String

    /// The property list of a name in the group's container.
    ///
    /// - Parameters:
    ///   - container: the container's folder; nil if the system has none for this process.
    ///   - rules: those of the system.
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` with the group and the remedy if there is no container.
    func file(_ name: String, in container: URL?, rules: SystemRules = .ofProcess) throws(StorageError) -> URL {
        guard let container else {
            let reason = "this process has no container for it; add the group to the App Groups entitlement of its target"
            throw .unreadable(file: "app group \(identifier)", reason: reason)
        }
        let library = container.path + "/Library"
        let folder = rules.settingsFolder(applicationSupport: library + "/Application Support", caches: library + "/Caches")
        return URL(fileURLWithPath: "\(folder)/\(name).plist", isDirectory: false)
    }

    /// Whether a path leads into the container of an app group: `Containers/Shared/AppGroup/ID` on iOS, `Library/Group Containers/ID` on
    /// macOS.
    static func isContainerPath(_ path: String) -> Bool {
        path.contains("/Containers/Shared/AppGroup/") || path.contains("/Library/Group Containers/")
    }
}
