extension [String: PropertyListValue] {
    /// Whether the key that stands in the dictionary for this one has the same bytes.
    func hasSameBytes(_ key: String) -> Bool {
        index(forKey: key).map { keys[$0].hasSameBytes(as: key) } ?? false
    }
}

extension PropertyListError {
    static func repeatedKey(_ key: String, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "the key \(key.debugDescription) stands twice in a dictionary")
    }

    static func equivalentKey(_ key: String, at offset: Int) -> PropertyListError {
        PropertyListError(
            offset: offset, reason: "two keys of a dictionary differ only in their Unicode normalization: \(key.debugDescription)")
    }
}
