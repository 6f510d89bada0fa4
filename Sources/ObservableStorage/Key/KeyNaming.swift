import PropertyListCoding

/// The naming of a group's keys in the property list: with the prefixes of the enclosing groups, each transformed first.
struct KeyNaming: Sendable {
    private var prefix: KeyPrefix
    private let transform: (@Sendable (String) -> String)?
    private let scope: KeyScope?

    init(prefix: String? = nil, scope: KeyScope? = nil, transform: (@Sendable (String) -> String)? = nil) {
        self.transform = transform
        self.scope = scope
        self.prefix = KeyPrefix(prefix.map { [$0] } ?? [])
    }

    /// The naming of a nested group.
    func inside(_ group: some KeyGroup) -> KeyNaming {
        var naming = self
        if let prefix = group.prefix { naming.prefix.components.append(prefix) }
        return naming
    }

    /// The name of a key.
    func name(_ own: String) -> String {
        scope?.prefix.name(fallbackName(own)) ?? fallbackName(own)
    }

    /// A key with its transformed name and earlier names.
    func apply<Value>(to key: StorageKey<Value>) -> StorageKey<Value> {
        let key = prefix.components.isEmpty && transform == nil ? key : key.named(fallbackName)
        return scope.map(key.scoped) ?? key
    }

    private func fallbackName(_ own: String) -> String {
        prefix.name(transform?(own) ?? own)
    }
}

/// Components before a name, each unescaped.
struct KeyPrefix: Sendable, Hashable {
    var components: [String]

    init(_ components: [String]) {
        self.components = components
    }

    /// The common prefix of all names; empty without components.
    var beginning: String {
        components.map { Self.escaped($0) + "/" }.joined()
    }

    /// The name after the components.
    func name(_ own: String) -> String {
        components.isEmpty ? own : beginning + Self.escaped(own)
    }

    /// Whether a name begins with the components.
    func contains(_ name: String) -> Bool {
        // The text after the last separator can begin with a combining mark, which forms one character with it.
        let slash = UInt8(ascii: "/")
        let ends = name.utf8.indices.lazy.filter { name.utf8[$0] == slash }
        guard let last = components.indices.last else { return true }
        guard let end = ends.dropFirst(last).first else { return false }
        return name[..<name.utf8.index(after: end)] == beginning
    }

    // As in a JSON pointer: a component that contains the separator stays one component.
    private static func escaped(_ component: String) -> String {
        guard component.utf8.contains(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "~") }) else { return component }
        return component.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "~": text += "~0"
            case "/": text += "~1"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}

/// A scope in which keys have their own values besides those of their fallbacks, for example a scene.
struct KeyScope: Sendable, Hashable {
    /// The prefix of the names.
    let prefix: KeyPrefix
    /// Whether a value set in the scope also becomes the fallback's value, with which other scopes start.
    let writesThrough: Bool
}

extension StorageKey {
    /// The same key with its name, and its earlier names, transformed.
    func named(_ transform: (String) -> String) -> StorageKey {
        with { traits in
            traits.name = transform(traits.name)
            traits.earlierNames = traits.earlierNames.map(transform)
        }
    }

    /// The same key with its own value in a scope, which is that of this key until it is set there.
    ///
    /// Values written by reading are written for this key.
    func scoped(to scope: KeyScope) -> StorageKey {
        named(scope.prefix.name).with { traits in
            traits.fallback = [self]
            traits.writesThrough = scope.writesThrough
            traits.persistsDefault = []
        }
    }

    /// The key whose value this one has while it has no value of its own.
    var fallback: StorageKey? {
        definition.traits.fallback.first
    }
}
