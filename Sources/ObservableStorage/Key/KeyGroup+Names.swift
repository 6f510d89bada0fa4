/// A key whose value's type does not matter.
protocol AnyStorageKey {
    var name: String { get }
    /// What the entry was called earlier.
    var earlierNames: [String] { get }
}

extension StorageKey: AnyStorageKey {
    var earlierNames: [String] { body.entryName.earlier }
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
