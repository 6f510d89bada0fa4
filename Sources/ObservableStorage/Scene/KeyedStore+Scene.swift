extension KeyedStore {
    /// Sees a scene through a group of keys: each key has the scene's value, or else the application's.
    ///
    /// - Parameters:
    ///   - scene: holds the values.
    ///   - prefix: what every name begins with, before a `/`.
    ///   - transform: makes each key's name over: `{ $0.lowercased() }`.
    public init(_ scene: SceneStore, prefix: String? = nil, naming transform: (@Sendable (String) -> String)? = nil) {
        self.init(scene.base, naming: KeyNaming(prefix: prefix, scope: scene.scope, transform: transform))
    }
}
