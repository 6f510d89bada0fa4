/// Why bytes are not a property list, or a value cannot be written as one.
public struct PropertyListError: Error, Sendable, Hashable {
    /// Where in the bytes, counted from their start; nothing when the error is about a value to be written.
    public let offset: Int?
    /// What is wrong, in words that stand behind a colon.
    public let reason: String

    /// Describes what is wrong and where.
    public init(offset: Int?, reason: String) {
        self.offset = offset
        self.reason = reason
    }
}

extension PropertyListError: CustomStringConvertible {
    /// The reason, with its place where there is one.
    public var description: String {
        offset.map { "\(reason) (at byte \($0))" } ?? reason
    }
}
