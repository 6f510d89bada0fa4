/// The application's keys, which extensions declare in one place or in many.
///
/// ```swift
/// extension StoredKeys {
///     var volume: StorageKey<Double> { StorageKey(default: 0.8) }
/// }
/// ```
///
/// A view has them by their key paths: `@Stored(\.volume)`; other code through a ``KeyedStore``: `KeyedStore<StoredKeys>(.standard)`.
public struct StoredKeys: KeyGroup {
    /// Creates the keys.
    public init() {}
}
