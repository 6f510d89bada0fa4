import Foundation

/// How the cost of one operation grows along one axis.
struct Curve: Sendable {
    /// The quantity that increases along the axis.
    enum Axis: String, CaseIterable, Sendable {
        case keys = "keys in the store"
        case subscribers
        case processes = "processes watching"
        case size = "bytes of a value"

        var points: [Int] {
            switch self {
            case .keys: [10, 100, 1_000, 10_000, 100_000]
            case .subscribers: [1, 10, 100, 1_000, 10_000]
            case .processes: [1, 2, 4, 8, 16, 32]
            case .size: [10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000]
            }
        }
    }

    /// The measured operation.
    enum Operation: String, Sendable {
        case read, write, commit, open
        case deliver = "deliver to listeners"
        case readers = "deliver to readers"
        case external = "deliver from elsewhere"
    }

    /// The permitted growth: the largest slope on logarithmic axes, with a tolerance for caches and noise.
    enum Growth: Double, Sendable {
        case none = 0.15
        case linear = 1.1
    }

    /// The work of one point of the axis, and what releases what was prepared for it.
    typealias Point = (work: Work, tearDown: () async throws -> Void)

    let axis: Axis
    let operation: Operation
    let growth: Growth
    /// Creates the work for one point of the axis.
    let prepare: @Sendable (Place, Int) async throws -> Point

    /// The name that selects it.
    var name: String { "\(axis).\(operation)" }
}

/// The measurements of a curve.
struct CurveOutcome {
    /// Nanoseconds by size.
    let points: [(x: Double, y: Double)]
    let goal: Double

    /// The exponent of the growth over the whole axis.
    var slope: Double { Statistics.slope(points) }

    /// The same for the largest sizes only, where a constant cost does not hide growth.
    var endSlope: Double { Statistics.slope(points.suffix(3)) }

    var isMet: Bool { slope <= goal }
}

extension Curve {
    private static let rounds = 15
    private static let roundTime = 8e6

    /// Measures and prints the selected curves, with a table for each axis.
    ///
    /// - Returns: whether every goal is met.
    static func run(_ options: Options, in place: Place) async throws -> Bool {
        let curves = try options.selected(from: all, by: \.name)
        var isMet = true
        for axis in Axis.allCases {
            let curves = curves.filter { $0.axis == axis }
            guard !curves.isEmpty else { continue }
            let columns = [axis.rawValue] + axis.points.map(Figures.count) + ["slope", "at the end", "at most"]
            let table = PrintedTable(columns, isMarkdown: options.isMarkdown)
            for curve in curves {
                let outcome = try await Watchdog.during(curve.name) { try await curve.measure(in: place) }
                let slopes = [outcome.slope, outcome.endSlope, outcome.goal].map { String(format: "%.2f", $0) }
                let cells = [curve.operation.rawValue] + outcome.points.map { Figures.time($0.y) } + slopes
                table.add(outcome.isMet ? cells : cells.dropLast() + [slopes[2] + ", missed"])
                isMet = isMet && outcome.isMet
            }
            print()
        }
        return isMet
    }

    private func measure(in place: Place) async throws -> CurveOutcome {
        var points: [(x: Double, y: Double)] = []
        for x in axis.points {
            let (work, tearDown) = try await prepare(place, x)
            let (count, _) = try await Comparison.calibrate(work, roundTime: Self.roundTime)
            var rounds: [Double] = []
            for _ in 0..<Self.rounds { rounds.append(try await work.run(count)) }
            try await tearDown()
            points.append((Double(x), Statistics.median(rounds)))
        }
        return CurveOutcome(points: points, goal: growth.rawValue)
    }
}
