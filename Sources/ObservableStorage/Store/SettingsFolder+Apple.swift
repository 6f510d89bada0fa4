#if canImport(Darwin)
    import Foundation

    extension SettingsFolder {
        /// The user's Application Support folder.
        static var url: URL {
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            return folders.first ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
        }
    }
#endif
