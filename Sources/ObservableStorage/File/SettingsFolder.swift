import FoundationSubset

/// The folder of settings: of the application's own store, of suites, and of the domains that `prefs` names.
enum SettingsFolder {
    /// The path of the property list of a suite.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if the environment names a folder whose path is not UTF-8.
    static func path(ofSuite suite: String, environment: (String) -> Data? = environment) throws(StorageError) -> String {
        let folder = try path { variable throws(StorageError) in
            guard let bytes = environment(variable), !bytes.isEmpty else { return nil }
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            throw .unreadable(file: "\(suite).plist", reason: "the folder of settings is not known: \(variable) is not UTF-8")
        }
        return "\(folder)/\(suite).plist"
    }

    /// The folders in which administrators provide default and mandatory values of suites, those with precedence first.
    static var ofAdministrators: [String] {
        foldersOfAdministrators(environment("XDG_CONFIG_DIRS").flatMap { String(validating: $0, as: UTF8.self) })
    }

    // Not by `ProcessInfo`, which replaces bytes that are not UTF-8 with U+FFFD, and so returns the name of another folder.
    private static func environment(_ variable: String) -> Data? {
        getenv(variable).map { Data(bytes: $0, count: strlen($0)) }
    }
}

#if canImport(Darwin)
    extension SettingsFolder {
        /// The folder for settings of the system's rules: mostly Application Support.
        private static func path(_ text: (_ variable: String) throws(StorageError) -> String?) throws(StorageError) -> String {
            func folder(_ kind: FileManager.SearchPathDirectory) -> String? {
                FileManager.default.urls(for: kind, in: .userDomainMask).first?.path
            }
            return SystemRules.ofProcess.settingsFolder(
                applicationSupport: folder(.applicationSupportDirectory), caches: folder(.cachesDirectory))
        }

        /// None: administrators of Apple's systems use configuration profiles.
        private static func foldersOfAdministrators(_ list: String?) -> [String] { [] }

        /// The application's bundle identifier, or else the name of its executable: the name of its own settings domain.
        static var applicationDomain: String {
            Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        }
    }
#else
    extension SettingsFolder {
        /// The first folder of `$STATE_DIRECTORY` or `$CONFIGURATION_DIRECTORY`, which systemd sets for a service, or else
        /// `$XDG_CONFIG_HOME`, or else `$HOME/.config`. A relative path is ignored in the first three, as the XDG specification requires,
        /// and is relative to the working folder in the last, as for Foundation's `UserDefaults`.
        private static func path(_ text: (_ variable: String) throws(StorageError) -> String?) throws(StorageError) -> String {
            let slash = UInt8(ascii: "/")
            // The service's user may write the first, but often not the second.
            for variable in ["STATE_DIRECTORY", "CONFIGURATION_DIRECTORY"] {
                let folders = try text(variable)?.split(separator: ":", omittingEmptySubsequences: false)
                if let folder = folders?.first, folder.utf8.first == slash { return String(folder) }
            }
            if let folder = try text("XDG_CONFIG_HOME"), folder.utf8.first == slash { return folder }
            // The user database is only read if the environment does not name the folder.
            return (try text("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path) + "/.config"
        }

        /// The name of the application's executable: the name of its own settings domain.
        static var applicationDomain: String {
            ProcessInfo.processInfo.processName
        }

        /// The absolute paths in `$XDG_CONFIG_DIRS`, or else `/etc/xdg`.
        private static func foldersOfAdministrators(_ list: String?) -> [String] {
            guard let list, !list.isEmpty else { return ["/etc/xdg"] }
            return list.split(separator: ":").map(String.init).filter { $0.utf8.first == UInt8(ascii: "/") }
        }
    }
#endif
