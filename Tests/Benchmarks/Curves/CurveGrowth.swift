/// How fast a cost may grow.
enum CurveGrowth: Sendable {
    /// Not at all: what else there is does not matter.
    case none
    /// In proportion at most.
    case linear

    /// The steepest slope on logarithmic axes; there is some room for caches and noise.
    var goal: Double {
        switch self {
        case .none: 0.15
        case .linear: 1.1
        }
    }
}
