#if !canImport(Darwin)
    /// Where the property lists of domains are kept.
    enum DomainFolder {
        /// The XDG base directory, where Foundation keeps user defaults too; one that is not absolute is ignored, as XDG says.
        static func path(environment: [String: String], home: String) -> String {
            if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") { return folder }
            // Foundation asks the environment where the user's folder is, NSHomeDirectory() the list of users.
            let own = environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            return "\(own ?? home)/.config"
        }
    }
#endif
