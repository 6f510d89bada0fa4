/// What a container holds, in the order in which it is written.
enum Children {
    case array([PropertyListValue])
    case dictionary([String: PropertyListValue], order: [Dictionary<String, PropertyListValue>.Index])

    var count: Int {
        switch self {
        case .array(let elements): elements.count
        case .dictionary(_, let order): order.count
        }
    }

    var isDictionary: Bool {
        switch self {
        case .array: false
        case .dictionary: true
        }
    }

    subscript(position: Int) -> PropertyListValue {
        switch self {
        case .array(let elements): elements[position]
        case .dictionary(let entries, let order): entries.values[order[position]]
        }
    }
}
