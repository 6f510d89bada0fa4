/// How the cost of one operation grows along one axis.
struct Curve: Sendable {
    let axis: CurveAxis
    let operation: CurveOperation
    let growth: CurveGrowth
    /// Makes the work for one point of the axis.
    let prepare: @Sendable (Place, Int) async throws -> CurveWork

    init(
        _ axis: CurveAxis, _ operation: CurveOperation, _ growth: CurveGrowth,
        prepare: @escaping @Sendable (Place, Int) async throws -> CurveWork
    ) {
        self.axis = axis
        self.operation = operation
        self.growth = growth
        self.prepare = prepare
    }

    /// What it is asked for by.
    var name: String {
        "\(axis.rawValue).\(operation.rawValue)"
    }
}

/// What is timed at one point of a curve.
struct CurveWork {
    let work: Work
    let tearDown: () async throws -> Void

    init(_ work: Work, tearDown: @escaping () async throws -> Void = {}) {
        self.work = work
        self.tearDown = tearDown
    }
}

/// What is operated on: there are more and more of it.
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

/// What is done.
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
