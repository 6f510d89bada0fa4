import PropertyListCoding

/// The entries of which a key of this process is secret, for texts about entries whose keys are not known.
enum SecretNames {
    /// The text instead of a secret.
    static let placeholder = "<redacted>"

    private static let names = Lock<Set<String>>([])

    static func insert(_ names: [String]) {
        self.names.withLock { $0.formUnion(names) }
    }

    static func contains(_ name: String) -> Bool {
        names.withLock { $0.contains(name) }
    }

    /// The values of entries for a text, without secrets.
    static func redacted(_ values: [String: some Any]) -> [String: Any] {
        let names = names.withLock { $0 }
        return values.reduce(into: [:]) { $0[$1.key] = names.contains($1.key) ? placeholder : $1.value as Any }
    }
}

extension StorageCommit: CustomReflectable {
    /// The revision and the edits, without secrets; see ``StorageKey/secret()``.
    public var customMirror: Mirror {
        Mirror(self, children: ["revision": revision, "edits": SecretNames.redacted(edits)])
    }
}

extension StorageChanges: CustomReflectable {
    /// The revisions and the values, without secrets; see ``StorageKey/secret()``.
    public var customMirror: Mirror {
        Mirror(self, children: ["since": since, "revision": revision, "values": SecretNames.redacted(values)])
    }
}
