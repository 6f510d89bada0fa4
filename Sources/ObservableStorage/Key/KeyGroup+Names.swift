/// A key whose value's type does not matter.
protocol AnyStorageKey {
    var name: String { get }
}

extension StorageKey: AnyStorageKey {}

extension KeyGroup {
    /// The names of the keys that are stored properties of the group and of the groups inside it; computed ones cannot be found.
    func names(_ naming: KeyNaming) -> [String] {
        Mirror(reflecting: self).children.flatMap { child -> [String] in
            switch child.value {
            case let key as any AnyStorageKey: [naming.name(key.name)]
            case let group as any KeyGroup: group.names(naming.inside(group))
            default: []
            }
        }
    }
}
