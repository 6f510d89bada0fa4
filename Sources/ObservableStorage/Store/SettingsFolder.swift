import Foundation

/// Where settings belong.
enum SettingsFolder {
    /// What the application is called: its bundle's identifier, or else its executable's name.
    static var applicationName: String {
        Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
    }
}
