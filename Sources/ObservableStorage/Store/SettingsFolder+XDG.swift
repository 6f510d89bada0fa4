#if !canImport(Darwin)
    import Foundation

    extension SettingsFolder {
        /// `$XDG_CONFIG_HOME`, or else `~/.config`; a relative path counts as none, as the standard says.
        static var url: URL {
            let environment = ProcessInfo.processInfo.environment
            if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
                return URL(fileURLWithPath: folder, isDirectory: true)
            }
            let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
            return URL(fileURLWithPath: home, isDirectory: true).appendingPathComponent(".config", isDirectory: true)
        }
    }
#endif
