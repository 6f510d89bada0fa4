/// The permitted growth of a cost.
enum CurveGrowth: Sendable {
    /// No growth.
    case none
    /// At most linear growth.
    case linear

    /// The maximum slope on logarithmic axes, with a tolerance for caches and noise.
    var goal: Double {
        switch self {
        case .none: 0.15
        case .linear: 1.1
        }
    }
}
