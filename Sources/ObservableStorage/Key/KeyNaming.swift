/// How the keys of a group are called in the property list: with the prefixes of the groups around them, each made over first.
struct KeyNaming: Sendable {
    private var prefixes: Prefixes
    private let transform: (@Sendable (String) -> String)?
    private let scope: KeyScope?

    init(prefix: String? = nil, scope: KeyScope? = nil, transform: (@Sendable (String) -> String)? = nil) {
        self.transform = transform
        self.scope = scope
        prefixes = Prefixes(prefix.map { [$0] } ?? [])
    }

    /// The naming of a group inside.
    func inside(_ group: some KeyGroup) -> KeyNaming {
        var naming = self
        if let prefix = group.prefix { naming.prefixes.components.append(prefix) }
        return naming
    }

    /// What a key is called.
    func name(_ own: String) -> String {
        scope?.naming.name(sharedName(own)) ?? sharedName(own)
    }

    /// A key under the name that it is called by, and its earlier names likewise.
    func apply<Value>(to key: StorageKey<Value>) -> StorageKey<Value> {
        let key = prefixes.components.isEmpty && transform == nil ? key : key.named(sharedName)
        return scope.map(key.scoped) ?? key
    }

    private func sharedName(_ own: String) -> String {
        prefixes.name(transform?(own) ?? own)
    }
}

extension KeyNaming {
    /// Components that stand before a name, each as it is.
    struct Prefixes: Sendable, Hashable {
        var components: [String]

        init(_ components: [String]) {
            self.components = components
        }

        /// What all names begin with; nothing without components.
        var beginning: String {
            components.map { Self.escaped($0) + "/" }.joined()
        }

        /// The name behind the components.
        func name(_ own: String) -> String {
            components.isEmpty ? own : beginning + Self.escaped(own)
        }

        /// Whether a name stands behind the components.
        func contain(_ name: String) -> Bool {
            // What comes after the last separator may begin with a combining mark, which makes one character of both.
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
}
