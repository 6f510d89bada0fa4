/// The quantity that increases along the axis.
enum CurveAxis: String, CaseIterable, Sendable {
    case keys
    case subscribers
    case processes
    case size

    var title: String {
        switch self {
        case .keys: "keys in the store"
        case .subscribers: "subscribers"
        case .processes: "processes watching"
        case .size: "bytes of a value"
        }
    }

    var points: [Int] {
        switch self {
        case .keys: [10, 100, 1_000, 10_000, 100_000]
        case .subscribers: [1, 10, 100, 1_000, 10_000]
        case .processes: [1, 2, 4, 8, 16, 32]
        case .size: [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
        }
    }
}
