import FoundationSubset

extension PropertyListValue: Equatable {
    /// Whether two values are the same property list, bit for bit.
    public static func == (left: PropertyListValue, right: PropertyListValue) -> Bool {
        guard left.isContainer else { return left.isSameLeaf(as: right) }
        // An explicit stack, because recursion could exhaust that of the thread.
        var pending = [(left: left, right: right)]
        while let (left, right) = pending.popLast() {
            switch (left, right) {
            case (.array(let left), .array(let right)):
                guard left.count == right.count else { return false }
                for (left, right) in zip(left, right) where !matches(left, right, &pending) { return false }
            case (.dictionary(let left), .dictionary(let right)):
                guard left.count == right.count else { return false }
                for (key, value) in left {
                    // `==` of dictionaries compares keys normalized.
                    guard let index = right.index(forKey: key), right[index].key.hasSameBytes(as: key) else { return false }
                    guard matches(value, right[index].value, &pending) else { return false }
                }
            default:
                return false
            }
        }
        return true
    }

    private static func matches(
        _ left: PropertyListValue, _ right: PropertyListValue, _ pending: inout [(left: PropertyListValue, right: PropertyListValue)]
    ) -> Bool {
        guard left.isContainer else { return left.isSameLeaf(as: right) }
        pending.append((left, right))
        return true
    }

    private func isSameLeaf(as other: PropertyListValue) -> Bool {
        switch (self, other) {
        case (.string(let left), .string(let right)): left.hasSameBytes(as: right)
        case (.integer(let left), .integer(let right)): left == right
        case (.real(let left), .real(let right)): left.bitPattern == right.bitPattern
        case (.boolean(let left), .boolean(let right)): left == right
        case (.date(let left), .date(let right)):
            left.timeIntervalSinceReferenceDate.bitPattern == right.timeIntervalSinceReferenceDate.bitPattern
        case (.data(let left), .data(let right)): left == right
        case (.uid(let left), .uid(let right)): left == right
        default: false
        }
    }
}

extension PropertyListValue: Hashable {
    /// Feeds the value to a hasher; equal values feed the same.
    public func hash(into hasher: inout Hasher) {
        feed(&hasher, levels: 8)
    }

    /// Feeds only counts below a depth, because deep recursion could exhaust the stack.
    private func feed(_ hasher: inout Hasher, levels: Int) {
        switch self {
        case .string(let string): hasher.combine(string)
        case .integer(let integer): hasher.combine(integer)
        case .real(let real): hasher.combine(real.bitPattern)
        case .boolean(let boolean): hasher.combine(boolean)
        case .date(let date): hasher.combine(date.timeIntervalSinceReferenceDate.bitPattern)
        case .data(let data): hasher.combine(data)
        case .array(let elements):
            hasher.combine(elements.count)
            guard levels > 0 else { return }
            for element in elements { element.feed(&hasher, levels: levels - 1) }
        case .dictionary(let entries):
            hasher.combine(entries.count)
            guard levels > 0 else { return }
            // Equal dictionaries may differ in order.
            var mixed = 0
            for (key, value) in entries {
                var entry = Hasher()
                entry.combine(key)
                value.feed(&entry, levels: levels - 1)
                mixed ^= entry.finalize()
            }
            hasher.combine(mixed)
        case .uid(let uid): hasher.combine(uid)
        }
    }
}
