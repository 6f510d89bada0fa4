import Foundation

/// Where settings belong: for the application's own store, for those of suites, and for the domains that `prefs` names.
enum SettingsFolder {
    /// What the application is called: its bundle's identifier, or else its executable's name.
    static var applicationName: String {
        Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    }

    /// The path of the property list of a suite.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)`` if the environment has no path of the folder.
    static func file(of suite: String, environment: (String) -> Data? = environment) throws(StorageError) -> String {
        do throws(NotUTF8) {
            return try "\(path(environment))/\(suite).plist"
        } catch {
            throw .unreadable(file: "\(suite).plist", reason: "the folder of settings is not known: \(error.variable) is not UTF-8")
        }
    }

    struct NotUTF8: Error {
        let variable: String
    }

    /// A variable's text, nil if it is not set or empty.
    static func text(of variable: String, _ environment: (String) -> Data?) throws(NotUTF8) -> String? {
        guard let bytes = environment(variable), !bytes.isEmpty else { return nil }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw NotUTF8(variable: variable) }
        return text
    }

    // Not `ProcessInfo`, which puts U+FFFD in the place of what is not UTF-8, and so names another folder.
    private static func environment(_ variable: String) -> Data? {
        getenv(variable).map { Data(bytes: $0, count: strlen($0)) }
    }
}
