#if !canImport(Darwin)
    import Foundation

    extension SettingsFolder {
        /// `$XDG_CONFIG_HOME`, or else `$HOME/.config`; a relative path counts as none in the first, as the standard says, and starts at the
        /// working folder in the second, as for Foundation's `UserDefaults`.
        static func path(_ environment: (String) -> Data?) throws(NotUTF8) -> String {
            if let folder = try text(of: "XDG_CONFIG_HOME", environment), folder.utf8.first == UInt8(ascii: "/") { return folder }
            // The list of users is asked only where the environment does not say.
            return (try text(of: "HOME", environment) ?? NSHomeDirectory()) + "/.config"
        }
    }
#endif
