public import ObservableStorage

extension JournalMode {
    /// The mode that a test gives a process as an argument: `off`, `edits`, or `full`, with checkpoints as often as possible.
    public init(argument: String) {
        switch argument {
        case "off": self = .off
        case "full": self = .full(quiet: .milliseconds(1), atMost: .milliseconds(5), keeping: 16_384)
        default: self = .edits
        }
    }
}
