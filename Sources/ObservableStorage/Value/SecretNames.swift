import PropertyListCoding

/// The entries of which a key of this process is secret, for texts about entries whose keys are not known.
enum SecretNames {
    /// The text instead of a secret.
    static let placeholder = "<redacted>"

    /// Those in scenes without the identifier of the scene, of which there may be any number: `scenes/NAME`.
    static let names = Lock<Set<String>>([])
    /// The first component of the names of all scenes' values.
    static let folderOfScenes = "scenes"

    static func insert(_ names: [String]) {
        self.names.withLock { $0.formUnion(names) }
    }

    static func contains(_ name: String) -> Bool {
        let names = Self.names.withLock { $0 }
        if names.isEmpty || names.contains(name) { return !names.isEmpty }
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual(folderOfScenes.utf8) else { return false }
        return names.contains("\(folderOfScenes)/\(Substring(parts[2]))")
    }

    /// The values of entries for a text, without secrets.
    static func redacted(_ values: [String: some Any]) -> [String: Any] {
        values.reduce(into: [:]) { $0[$1.key] = contains($1.key) ? placeholder : $1.value as Any }
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
