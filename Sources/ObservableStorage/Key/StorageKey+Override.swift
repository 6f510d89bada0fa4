extension StorageKey {
    /// The same key with names of its own for its overrides, instead of those derived from its name; see ``OverrideSource``.
    ///
    /// ```swift
    /// let port = StorageKey("server", "port", default: 80).override(environment: "PORT", argument: "--port")
    /// ```
    ///
    /// - Parameters:
    ///   - variable: the whole name of the variable, to which the prefix of the source is not added; nil for the derived one.
    ///   - argument: the argument, with or without its dashes; nil for the derived one.
    public func override(environment variable: String? = nil, argument: String? = nil) -> StorageKey {
        with { traits in
            traits.entryName.overrideNames = [variable, argument.map { $0.hasPrefix("-") ? $0 : "--" + $0 }].compactMap { $0 }
        }
    }

    /// The value of an override.
    ///
    /// - Throws: ``StorageError/invalidOverride(name:key:reason:)``.
    func value(of override: OverrideText) throws(StorageError) -> Value {
        let name = override.source.description
        let key = (fallback ?? self).name
        switch override.text {
        case .failure(let failure): throw .invalidOverride(name: name, key: key, reason: "\(failure)")
        case .success(let text):
            do throws(StorageError) {
                return try value(ofText: text)
            } catch .undecodable(let place, let expected, let found, _) {
                if override.isFileContent {
                    // Not where either: names inside a dictionary are content of the file, too.
                    throw .invalidOverride(name: name, key: key, reason: "expected \(expected), the file has something else")
                }
                let element = place == self.name ? "" : "\(place): "
                let reason = isSecret ? "it has something else" : "found \(found)"
                throw .invalidOverride(name: name, key: key, reason: "\(element)expected \(expected), \(reason)")
            }
        }
    }
}
