/// The application's keys, which any number of extensions declare.
///
/// ```swift
/// extension ApplicationKeys {
///     var volume: StorageKey<Double> { StorageKey(default: 0.8) }
/// }
/// ```
///
/// A view has them by their key paths: `@Stored(\.volume)`; other code through a ``KeyedStore``: `KeyedStore<ApplicationKeys>(.standard)`.
public struct ApplicationKeys: KeyGroup {
    /// Creates the keys.
    public init() {}
}
