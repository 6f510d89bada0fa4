#if canImport(Darwin)
    import Foundation

    extension SettingsFolder {
        /// The user's Application Support folder.
        static func path(_ environment: (String) -> Data?) throws(NotUTF8) -> String {
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            return folders.first?.path ?? NSHomeDirectory()
        }
    }
#endif
