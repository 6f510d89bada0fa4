import PropertyListCoding

/// A scope in which keys have values of their own, and otherwise those of their fallbacks: a scene.
struct KeyScope: Sendable, Hashable {
    let prefix: KeyPrefix
    /// Whether a value set in the scope also becomes the fallback's value, with which other scopes start.
    let writesThrough: Bool
    /// The number under which the scope was last discarded before it was opened; 0 if it never was. See ``DiscardedScopes``.
    var generation: UInt64 = 0

    /// The first component of the names of all scenes' values.
    static let folder = SecretNames.folderOfScenes

    /// The stored form of nil in a scope, which is that of a keyed archive: a property list cannot represent nil.
    static let storedNil = PropertyListValue.string("$null")

    /// The identifier of the scene to which the entry of a name belongs; nil if it belongs to none.
    static func sceneID(ofEntry name: String) -> String? {
        // By bytes: the text after a separator can begin with a combining mark, which forms one character with it.
        let parts = name.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].elementsEqual(folder.utf8) else { return nil }
        let sceneID = KeyPrefix.unescaped(String(Substring(parts[1])))
        // A name that this library does not write belongs to no scene.
        return sceneID.flatMap { KeyPrefix([folder, $0]).contains(name) ? $0 : nil }
    }
}

/// The discarded scopes of a store, each with a number that increases each time.
///
/// A value cannot be set in a scope that was discarded after it was opened, because nothing would ever remove it again.
struct DiscardedScopes: Sendable {
    // A service may discard any number of sessions: the oldest, to which hardly anything can still refer, are forgotten.
    private static let limit = 1_000

    private var numbers: [KeyPrefix: UInt64] = [:]

    /// The generation of a scope that is opened now.
    func generation(of prefix: KeyPrefix) -> UInt64 {
        numbers[prefix] ?? 0
    }

    /// Whether a scope was discarded after it was opened.
    func contains(_ scope: KeyScope) -> Bool {
        generation(of: scope.prefix) > scope.generation
    }

    /// Records that scopes are discarded now.
    mutating func insert(_ prefixes: Set<KeyPrefix>) {
        for prefix in prefixes { numbers[prefix] = uniqueNumber() }
        guard numbers.count > 2 * Self.limit else { return }
        let oldest = numbers.values.sorted()[numbers.count - Self.limit]
        numbers = numbers.filter { $0.value >= oldest }
    }
}

extension StorageKey {
    /// The same key with its own value in a scope, which is that of this key until it is set there.
    ///
    /// Values written by reading are written for this key.
    func scoped(to scope: KeyScope) -> StorageKey {
        // At once: the name of each key that is made is remembered if it is secret.
        with { traits in
            traits.entryName.rename(scope.prefix.name)
            traits.scope = scope
            traits.fallback = [self]
            (traits.entryName.fallback, traits.entryName.earlierFallback) = (definition.entryName.own, definition.entryName.earlier)
            traits.persistsDefault = .never
        }
    }

    /// The key whose value this one has while it has no value of its own.
    var fallback: StorageKey? {
        definition.traits.fallback.first
    }
}
