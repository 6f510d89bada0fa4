/// When reading a key writes its default.
public struct DefaultPersistence: OptionSet, Sendable, Hashable {
    /// The set as bits.
    public let rawValue: Int

    /// Makes a set of its bits.
    public init(rawValue: Int) {
        self.rawValue = rawValue
    }

    /// When nothing is stored.
    public static let whenMissing = DefaultPersistence(rawValue: 1)
    /// When what is stored cannot be decoded, which is lost then.
    public static let onFailure = DefaultPersistence(rawValue: 2)
}
