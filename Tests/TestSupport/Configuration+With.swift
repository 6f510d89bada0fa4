public import ObservableStorage

extension PropertyListFile.Configuration {
    /// The default configuration with some changes, in one expression.
    public static func with(_ change: (inout Self) -> Void) -> Self {
        var configuration = Self()
        change(&configuration)
        return configuration
    }
}
