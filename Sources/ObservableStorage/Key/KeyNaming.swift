/// How the keys of a group are called in the property list: with the prefixes of the groups around them, each made over first.
struct KeyNaming: Sendable {
    private var prefixes: [String] = []
    private let transform: (@Sendable (String) -> String)?

    init(prefix: String? = nil, transform: (@Sendable (String) -> String)? = nil) {
        self.transform = transform
        if let prefix { prefixes = [prefix] }
    }

    /// The naming of a group inside.
    func inside(_ group: some KeyGroup) -> KeyNaming {
        var naming = self
        if let prefix = group.prefix { naming.prefixes.append(prefix) }
        return naming
    }

    /// What a key is called.
    func name(_ own: String) -> String {
        let own = transform?(own) ?? own
        return prefixes.isEmpty ? own : (prefixes + [own]).map(Self.escaped).joined(separator: "/")
    }

    /// A key under the name that it is called by, and its earlier names likewise.
    func apply<Value>(to key: StorageKey<Value>) -> StorageKey<Value> {
        prefixes.isEmpty && transform == nil ? key : key.named(name)
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
