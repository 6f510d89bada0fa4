import PropertyListCoding

/// The naming of a group's keys in the property list: each name is transformed, and then prefixed for the enclosing groups.
struct KeyNaming: Sendable {
    private var prefix: KeyPrefix
    private let transform: (@Sendable (String) -> String)?
    private var scope: KeyScope?

    init(prefix: String? = nil, scope: KeyScope? = nil, transform: (@Sendable (String) -> String)? = nil) {
        self.transform = transform
        self.scope = scope
        self.prefix = KeyPrefix(prefix.map { [$0] } ?? [])
    }

    func inside(_ prefix: String?) -> KeyNaming {
        var naming = self
        if let prefix { naming.prefix.components.append(prefix) }
        return naming
    }

    func scoped(to scope: KeyScope) -> KeyNaming {
        var naming = self
        naming.scope = scope
        return naming
    }

    /// Whether a stored name has the prefix of this naming. The names of a scene belong to the naming in that scene only.
    func contains(_ name: String) -> Bool {
        guard let scope else { return prefix.contains(name) && !KeyPrefix([KeyScope.folder]).contains(name) }
        guard scope.prefix.contains(name) else { return false }
        let own = String(Substring(name.utf8.dropFirst(scope.prefix.beginning.utf8.count)))
        return KeyPrefix.unescaped(own).map(prefix.contains) ?? false
    }

    /// A key with its transformed name and earlier names.
    func apply<Value>(to key: StorageKey<Value>) -> StorageKey<Value> {
        let isRenamed = !prefix.components.isEmpty || transform != nil
        let key = isRenamed ? key.with { $0.entryName.rename { prefix.name(transform?($0) ?? $0) } } : key
        return scope.map(key.scoped) ?? key
    }
}

/// A key of any value type.
package protocol AnyStorageKey<Value>: Sendable {
    associatedtype Value: Sendable
    var storageKey: StorageKey<Value> { get }
}

extension StorageKey: AnyStorageKey {
    package var storageKey: StorageKey { self }
}

extension AnyStorageKey {
    /// Identifies the key among all keys of the process.
    var number: UInt64 { storageKey.definition.id }
    var entryName: EntryName { storageKey.definition.entryName }
    package var isSecret: Bool { storageKey.isSecret }
    /// The scene with whose values the key's entry is removed, although it is no key of a scene.
    var foreignSceneID: String? {
        storageKey.definition.scope == nil ? KeyScope.sceneID(ofEntry: entryName.own) : nil
    }
    var isNamedByFunction: Bool { storageKey.definition.traits.isNamedByFunction }

    func named(by naming: KeyNaming) -> any AnyStorageKey {
        naming.apply(to: storageKey)
    }
}

/// Components before a name, each unescaped.
struct KeyPrefix: Sendable, Hashable {
    var components: [String]

    init(_ components: [String]) {
        self.components = components
    }

    /// The text before each name; empty without components.
    var beginning: String {
        components.map { Self.escaped($0) + "/" }.joined()
    }

    func name(_ own: String) -> String {
        components.isEmpty ? own : beginning + Self.escaped(own)
    }

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

    /// The component that was escaped; nil for text that is not an escaped component.
    static func unescaped(_ text: String) -> String? {
        var scalars = text.unicodeScalars.makeIterator()
        var component = ""
        while let scalar = scalars.next() {
            switch scalar {
            case "~":
                guard let escaped = scalars.next(), escaped == "0" || escaped == "1" else { return nil }
                component.unicodeScalars.append(escaped == "0" ? "~" : "/")
            default: component.unicodeScalars.append(scalar)
            }
        }
        return component
    }
}
