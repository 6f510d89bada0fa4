/// Who changed a value.
public enum ChangeOrigin: Sendable, Hashable {
    /// This store.
    case local
    /// Another process, or another store on the same file.
    case external
    /// A migration of what was stored before.
    case migration
}
