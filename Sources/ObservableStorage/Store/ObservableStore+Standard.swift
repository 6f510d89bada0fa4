import Foundation

extension ObservableStore {
    /// The application's own store, opened on first use, where its settings belong: see ``init(suiteName:)`` with the application's name.
    ///
    /// If it cannot be opened, values live in memory until it can; see ``availability``.
    public static let standard = ObservableStore(suiteName: SettingsFolder.applicationName)

    /// Opens the store of a suite where settings belong: `NAME.plist` in the configuration folder on Linux, which is the file of
    /// `UserDefaults(suiteName:)` there, and in Application Support on Apple's systems. `prefs NAME` is the same file.
    ///
    /// If it cannot be opened, values live in memory until it can: ``flush()`` throws the reason, ``failures`` has it, and ``availability``
    /// tells when that is over.
    public init(suiteName: String) {
        let file = PropertyListFile(suiteName: suiteName)
        do {
            try self.init(backend: file)
        } catch {
            self.init(backend: file, unavailableBecause: error)
        }
    }
}
