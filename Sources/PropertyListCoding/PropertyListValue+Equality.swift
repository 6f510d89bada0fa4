import Foundation

extension PropertyListValue: Hashable {
    /// Whether two values are the same property list, bit for bit.
    public static func == (left: PropertyListValue, right: PropertyListValue) -> Bool {
        switch (left, right) {
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
        case (.boolean(let left), .boolean(let right)): left == right
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        case (.data(let left), .data(let right)): left == right
        case (.array(let left), .array(let right)): left == right
        case (.dictionary(let left), .dictionary(let right)): left.isExactly(right)
        case (.uid(let left), .uid(let right)): left == right
        default: false
        }
    }

    /// Feeds the value to a hasher; equal values feed the same.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .string(let string): hasher.combine(string)
        case .integer(let integer): hasher.combine(integer)
        case .real(let real): hasher.combine(real.bitPattern)
        case .boolean(let boolean): hasher.combine(boolean)
        case .date(let date): hasher.combine(date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data): hasher.combine(data)
        case .array(let array): hasher.combine(array)
        case .dictionary(let dictionary): hasher.combine(dictionary)
        case .uid(let uid): hasher.combine(uid)
        }
    }
}

extension [String: PropertyListValue] {
    /// Whether two dictionaries have the same entries, keys compared by their bytes: `==` would compare them normalized.
    fileprivate func isExactly(_ other: [String: PropertyListValue]) -> Bool {
        guard count == other.count else { return false }
        for (key, value) in self {
            guard let place = other.index(forKey: key) else { return false }
            let entry = other[place]
            guard entry.value == value, entry.key.hasSameBytes(as: key) else { return false }
        }
        return true
    }
}
