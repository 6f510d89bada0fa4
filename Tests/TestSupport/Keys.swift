public import ObservableStorage

/// Keys shared by tests.
public enum Keys {
    /// A number, 0 by default.
    public static let count = StorageKey("count", default: 0)
    /// A text, empty by default.
    public static let text = StorageKey("text", default: "")
    /// A text that may be missing.
    public static let note = StorageKey<String?>("note")
}
