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
