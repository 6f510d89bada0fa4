import PropertyListCoding

extension PropertyListValue {
    private static let longestText = 60

    /// The type and, where that is short, the value: for errors about what is in it.
    var briefDescription: String {
        switch self {
        case .string(let string):
            "string \"\(string.prefix(Self.longestText))\(string.count > Self.longestText ? "…" : "")\""
        case .integer(let integer): "integer \(integer)"
        case .real(let real): "real \(real)"
        case .boolean(let boolean): "boolean \(boolean)"
        default: typeName
        }
    }
}
