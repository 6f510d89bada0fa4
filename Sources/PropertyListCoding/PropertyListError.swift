/// The reason why bytes are not a property list, or why a value cannot be written as one.
public struct PropertyListError: Error, Sendable, Hashable {
    /// The offset in the bytes; nil if the error is about a value to be written.
    public let offset: Int?
    /// The line of the offset in a text, XML or JSON, from 1; nil for the binary format.
    public let line: Int?
    /// The column of the offset in its line, from 1, in Unicode scalars; a tab is one.
    public let column: Int?
    /// The reason, as a phrase that may follow a colon.
    public let reason: String
    /// The type of the value for which JSON has no form; nil for any other error.
    package internal(set) var refusedType: String?

    /// Creates an error.
    public init(offset: Int?, line: Int? = nil, column: Int? = nil, reason: String) {
        self.offset = offset
        self.line = line
        self.column = column
        self.reason = reason
    }
}

extension PropertyListError: CustomStringConvertible {
    /// The reason, with the line and the column, or else the offset, if there is one.
    public var description: String {
        if let line, let column { return "\(reason) (at line \(line), column \(column))" }
        return offset.map { "\(reason) (at byte \($0))" } ?? reason
    }
}

// Errors of several formats.
extension PropertyListError {
    static func tooDeep(at offset: Int?, inside containers: Int = 0) -> PropertyListError {
        let limit = DecodingLimits.depth - containers
        return PropertyListError(offset: offset, reason: "arrays and dictionaries are nested more than \(limit) deep")
    }

    static func repeatedKey(_ key: String, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "the key \(key.debugDescription) occurs twice in a dictionary")
    }

    static func equivalentKey(_ key: String, at offset: Int) -> PropertyListError {
        PropertyListError(
            offset: offset, reason: "two keys of a dictionary differ only in their Unicode normalization: \(key.debugDescription)")
    }
}
