import FoundationSubset

/// What a suite stores, which determines its folder on Linux.
public enum SuiteKind: Sendable, Hashable {
    /// What people choose, edit and take to another machine: in `$XDG_CONFIG_HOME`, by default `~/.config`.
    case configuration
    /// What the program remembers, such as recent files and positions of windows: in `$XDG_STATE_HOME`, by default `~/.local/state`.
    ///
    /// A service of systemd has both in its state folder, and a program for Apple's systems in Application Support: the suites of both need
    /// different names there.
    case state
}

/// The folder of settings: of the application's own store, of suites, and of the domains that `prefs` names.
enum SettingsFolder {
    /// The path of the property list of a suite.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if the name would be that of a file elsewhere, or if the environment names a
    ///   folder whose path is not UTF-8.
    static func path(
        ofSuite suite: String, kind: SuiteKind = .configuration, environment: (String) -> Data? = environment
    ) throws(StorageError) -> String {
        guard isName(suite) else {
            let reason = "the name of a suite may not be empty, . or .., nor contain / or NUL; use one such as org.example.editor"
            throw .unreadable(file: "\(suite).plist", reason: reason)
        }
        let folder = try path(of: kind) { variable throws(StorageError) in
            guard let bytes = environment(variable), !bytes.isEmpty else { return nil }
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            throw .unreadable(file: "\(suite).plist", reason: "the folder of settings is not known: \(variable) is not UTF-8")
        }
        return "\(folder)/\(suite).plist"
    }

    static func isName(_ suite: String) -> Bool {
        !["", ".", ".."].contains(suite) && !suite.utf8.contains { $0 == UInt8(ascii: "/") || $0 == 0 }
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
        private static func path(
            of kind: SuiteKind, _ text: (_ variable: String) throws(StorageError) -> String?
        ) throws(StorageError) -> String {
            func folder(_ kind: FileManager.SearchPathDirectory) -> String? {
                FileManager.default.urls(for: kind, in: .userDomainMask).first?.path
            }
            return SystemRules.ofProcess.settingsFolder(
                applicationSupport: folder(.applicationSupportDirectory), caches: folder(.cachesDirectory))
        }

        /// None: administrators of Apple's systems use configuration profiles.
        private static func foldersOfAdministrators(_ list: String?) -> [String] { [] }

        /// The application's bundle identifier, or else the name of its executable: the name of its own settings domain.
        static var applicationDomain: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }
    }
#else
    extension SettingsFolder {
        /// The first folder of `$STATE_DIRECTORY` or `$CONFIGURATION_DIRECTORY`, which systemd sets for a service, or else
        /// `$XDG_CONFIG_HOME`, or else `$HOME/.config`; for state, of `$STATE_DIRECTORY`, `$XDG_STATE_HOME` or `$HOME/.local/state`. A
        /// relative path is ignored in all but the last, as the XDG specification requires, and is relative to the working folder there, as
        /// for Foundation's `UserDefaults`.
        private static func path(
            of kind: SuiteKind, _ text: (_ variable: String) throws(StorageError) -> String?
        ) throws(StorageError) -> String {
            let slash = UInt8(ascii: "/")
            let (ofUser, inHome) = kind == .state ? ("XDG_STATE_HOME", "/.local/state") : ("XDG_CONFIG_HOME", "/.config")
            // The service's user may write the first, but often not the second.
            for variable in kind == .state ? ["STATE_DIRECTORY"] : ["STATE_DIRECTORY", "CONFIGURATION_DIRECTORY"] {
                let folders = try text(variable)?.split(separator: ":", omittingEmptySubsequences: false)
                if let folder = folders?.first, folder.utf8.first == slash { return String(folder) }
            }
            if let folder = try text(ofUser), folder.utf8.first == slash { return folder }
            // The user database is only read if the environment does not name the folder.
            return (try text("HOME") ?? FileManager.default.homeDirectoryForCurrentUser.path) + inHome
        }

        /// The name of the application's executable: the name of its own settings domain.
        static var applicationDomain: String { ProcessInfo.processInfo.processName }

        /// The absolute paths in `$XDG_CONFIG_DIRS`, or else `/etc/xdg`.
        private static func foldersOfAdministrators(_ list: String?) -> [String] {
            guard let list, !list.isEmpty else { return ["/etc/xdg"] }
            return list.split(separator: ":").map(String.init).filter { $0.utf8.first == UInt8(ascii: "/") }
        }
    }
#endif
