#if canImport(Darwin)
    /// Where the property lists of domains are kept.
    enum DomainFolder {
        static func path(environment: [String: String], home: String) -> String {
            "\(home)/Library/Preferences"
        }
    }
#endif
