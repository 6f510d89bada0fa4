/// What makes a key: everything but what was read with it.
struct KeyTraits<Value: Sendable>: Sendable {
    var name: String
    var persistsDefault: DefaultPersistence
    let codec: StorageCodec<Value>
    /// Earlier shapes of the value and earlier names of the entry, the newest first.
    var migrations: [ValueMigration<Value>] = []
    var earlierNames: [String] = []
    /// The key whose value this one has while it has none of its own; one at the most.
    var shared: [StorageKey<Value>] = []
    /// Whether what is set becomes the shared key's value too.
    var leavesLastValue = false
    let lazyDefault: LazyValue<Value>
    let isNil: @Sendable (Value) -> Bool
}
