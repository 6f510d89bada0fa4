/// Related keys, as the properties of a type. Groups can be nested.
///
/// ```swift
/// struct AppKeys: KeyGroup {
///     let launchCount = StorageKey("launchCount", default: 0)
///     let debug = DebugKeys()
/// }
/// ```
public protocol KeyGroup: Sendable {
    /// The prefix of the names of the group's keys, followed by a `/`; nil by default.
    ///
    /// In a prefix or a name, `/` and `~` are written as `~1` and `~0`, so that no two keys have the same name.
    var prefix: String? { get }

    /// Creates the keys.
    init()
}

extension KeyGroup {
    /// No prefix.
    public var prefix: String? { nil }
}

/// A key of any value type.
protocol AnyStorageKey {
    var name: String { get }
    /// The earlier names of the entry.
    var earlierNames: [String] { get }
}

extension StorageKey: AnyStorageKey {
    var earlierNames: [String] { definition.entryName.earlier }
}

extension KeyGroup {
    /// The names of the keys that are stored properties of the group or of nested groups; computed ones cannot be found.
    ///
    /// - Parameter withEarlier: whether earlier names are included.
    func names(_ naming: KeyNaming, withEarlier: Bool = false) -> [String] {
        Mirror(reflecting: self).children.flatMap { child -> [String] in
            switch child.value {
            case let key as any AnyStorageKey: ([key.name] + (withEarlier ? key.earlierNames : [])).map(naming.name)
            case let group as any KeyGroup: group.names(naming.inside(group), withEarlier: withEarlier)
            default: []
            }
        }
    }
}
