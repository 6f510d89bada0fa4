/// Keys that belong together, as the properties of a type. Groups may hold groups.
///
/// ```swift
/// struct AppKeys: KeyGroup {
///     let launchCount = StorageKey("launchCount", default: 0)
///     let debug = DebugKeys()
/// }
/// ```
public protocol KeyGroup: Sendable {
    /// Makes the keys.
    init()
}
