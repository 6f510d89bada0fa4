/// The names that the keys of a group have in the property list.
///
/// ```swift
/// settings.keyNames.debug.showConsole    // "debug/showConsole"
/// ```
@dynamicMemberLookup
public struct KeyNames<Keys: KeyGroup>: Sendable {
    let keys: Keys
    let naming: KeyNaming

    /// The name of a key.
    public subscript<Value>(dynamicMember path: KeyPath<Keys, StorageKey<Value>>) -> String {
        naming.name(keys[keyPath: path].name)
    }

    /// The names in a group inside the group.
    public subscript<Group: KeyGroup>(dynamicMember path: KeyPath<Keys, Group>) -> KeyNames<Group> {
        let group = keys[keyPath: path]
        return KeyNames<Group>(keys: group, naming: naming.inside(group))
    }
}
