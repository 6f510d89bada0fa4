extension ObservableStore {
    /// Reports names that two keys of a group have in common.
    nonisolated func reportRepeatedNames<Keys: KeyGroup>(of keys: Keys, naming: KeyNaming) {
        var seen: Set<String> = []
        for name in keys.names(naming) where !seen.insert(name).inserted {
            reports.report(.repeatedName(key: name, group: String(describing: Keys.self)))
        }
    }
}
