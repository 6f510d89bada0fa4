/// The measured operation.
enum CurveOperation: String, CaseIterable, Sendable {
    case read
    case write
    case deliver
    case readers
    case external
    case commit
    case open

    var title: String {
        switch self {
        case .read: "read"
        case .write: "write"
        case .deliver: "deliver to listeners"
        case .readers: "deliver to readers"
        case .external: "deliver from elsewhere"
        case .commit: "commit"
        case .open: "open"
        }
    }
}
