import PropertyListCoding

extension PropertyListValue {
    /// Whether it takes more than about 64 KB. No more than that is looked at.
    var isLarge: Bool {
        var size = 0
        var pending = [self]
        while size <= 65_536, let value = pending.popLast() {
            size += 32
            switch value {
            case .string(let text): size += text.utf8.count
            case .data(let data): size += data.count
            case .array(let elements): pending += elements.prefix(2_048)
            case .dictionary(let entries): pending += entries.values.prefix(2_048)
            case .integer, .real, .boolean, .date, .uid: break
            }
        }
        return size > 65_536
    }
}
