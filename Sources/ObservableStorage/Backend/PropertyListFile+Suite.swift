import Foundation

extension Bundle {
    /// The application's bundle identifier, or else the name of its executable: the name of its own settings domain.
    static var applicationDomain: String {
        main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    }
}

// The folder of settings: of the application's own store, of suites, and of the domains that `prefs` names.
extension PropertyListFile {
    /// The path of the property list of a suite.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)`` if the environment names a folder whose path is not UTF-8.
    static func path(ofSuite suite: String, environment: (String) -> Data? = environment) throws(StorageError) -> String {
        let folder = try settingsFolder { variable throws(StorageError) in
            guard let bytes = environment(variable), !bytes.isEmpty else { return nil }
            if let text = String(validating: bytes, as: UTF8.self) { return text }
            throw .unreadable(file: "\(suite).plist", reason: "the folder of settings is not known: \(variable) is not UTF-8")
        }
        return "\(folder)/\(suite).plist"
    }

    // Not by `ProcessInfo`, which replaces bytes that are not UTF-8 with U+FFFD, and so returns the name of another folder.
    private static func environment(_ variable: String) -> Data? {
        getenv(variable).map { Data(bytes: $0, count: strlen($0)) }
    }
}

#if canImport(Darwin)
    extension PropertyListFile {
        /// The user's Application Support folder.
        private static func settingsFolder(_ text: (_ variable: String) throws(StorageError) -> String?) throws(StorageError) -> String {
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            return folders.first?.path ?? NSHomeDirectory()
        }
    }
#else
    extension PropertyListFile {
        /// `$XDG_CONFIG_HOME`, or else `$HOME/.config`. A relative path is ignored in the first, as the XDG specification requires, and is
        /// relative to the working folder in the second, as for Foundation's `UserDefaults`.
        private static func settingsFolder(_ text: (_ variable: String) throws(StorageError) -> String?) throws(StorageError) -> String {
            if let folder = try text("XDG_CONFIG_HOME"), folder.utf8.first == UInt8(ascii: "/") { return folder }
            // The user database is only read if the environment does not name the folder.
            return (try text("HOME") ?? NSHomeDirectory()) + "/.config"
        }
    }
#endif
