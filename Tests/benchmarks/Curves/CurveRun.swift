import Foundation

/// Measures curves, prints them, and draws them if a file is given.
struct CurveRun {
    let output: Options.Output
    let picture: String?
    let place: Place

    private static let rounds = 15
    private static let roundTime = 8e6

    /// Measures the selected curves, or all curves.
    ///
    /// - Returns: whether every goal is met.
    func run(_ names: [String]) async throws -> Bool {
        let curves = names.isEmpty ? CurveTable.curves : try Selection.choose(names, from: CurveTable.curves, by: \.name)
        var outcomes: [CurveOutcome] = []
        for axis in CurveAxis.allCases {
            let chosen = curves.filter { $0.axis == axis }
            guard !chosen.isEmpty else { continue }
            let line = CurveLine(axis, output)
            print(line.heading)
            for curve in chosen {
                let outcome = try await Watchdog.during(curve.name) { try await measure(curve) }
                print(line.text(outcome))
                flushOutput()
                outcomes.append(outcome)
            }
            print()
        }
        if let picture {
            try Data(CurvePicture(outcomes).svg.utf8).write(to: URL(fileURLWithPath: picture))
        }
        return outcomes.allSatisfy(\.isMet)
    }

    private func measure(_ curve: Curve) async throws -> CurveOutcome {
        var points: [(x: Double, y: Double)] = []
        for x in curve.axis.points {
            let prepared = try await curve.prepare(place, x)
            let (count, _) = try await Comparison.calibrate(prepared.work, roundTime: Self.roundTime)
            var rounds: [Double] = []
            for _ in 0..<Self.rounds { rounds.append(try await prepared.work.run(count)) }
            try await prepared.tearDown()
            points.append((Double(x), Statistics.median(rounds)))
        }
        return CurveOutcome(axis: curve.axis, operation: curve.operation, growth: curve.growth, points: points)
    }
}
