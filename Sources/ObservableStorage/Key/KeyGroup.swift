/// Keys that belong together, as the properties of a type. Groups may hold groups.
///
/// ```swift
/// struct AppKeys: KeyGroup {
///     let launchCount = StorageKey("launchCount", default: 0)
///     let debug = DebugKeys()
/// }
/// ```
public protocol KeyGroup: Sendable {
    /// What the names of the group's keys begin with, before a `/`; nothing by default.
    ///
    /// Where a prefix or a name contains `/` or `~`, these are written `~1` and `~0`, so that no two keys have the same name.
    var prefix: String? { get }

    /// Makes the keys.
    init()
}

extension KeyGroup {
    /// No prefix.
    public var prefix: String? { nil }
}

/// A key whose value's type does not matter.
protocol AnyStorageKey {
    var name: String { get }
    /// What the entry was called earlier.
    var earlierNames: [String] { get }
}

extension StorageKey: AnyStorageKey {
    var earlierNames: [String] { definition.entryName.earlier }
}

extension KeyGroup {
    /// The names of the keys that are stored properties of the group and of the groups inside it; computed ones cannot be found.
    ///
    /// - Parameter withEarlier: whether what their entries were called earlier comes too.
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
