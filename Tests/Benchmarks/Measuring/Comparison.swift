/// What the rounds of a row have measured, in nanoseconds.
struct Comparison: Sendable {
    /// One figure for each round.
    let subjects: [Double]
    let baselines: [Double]

    var subject: Double { Statistics.median(subjects) }
    var baseline: Double { Statistics.median(baselines) }

    /// The median of the ratios of the two figures of a round.
    ///
    /// Steadier than the ratio of the medians: whatever slows the machine down for a while slows both halves of a round.
    var ratio: Double {
        Statistics.median(zip(subjects, baselines).map { $0 / $1 })
    }
}

extension Comparison {
    // Long enough for the clock's own cost not to count, short enough for both halves of a round to meet the same machine.
    private static let roundTime = 20e6
    private static let rowTime = 4e9
    private static let rounds = 7...61
    // What is not timed, a flush or a file that is prepared, takes time as well.
    private static let mostTime = 1e9

    /// Measures both halves of a row in turns.
    init(of row: Row, in place: Place) async throws {
        let pair = try await row.prepare(place)
        let (subjectCount, subjectTime) = try await Self.calibrate(pair.subject)
        let (baselineCount, baselineTime) = try await Self.calibrate(pair.baseline)
        let rounds = Int(Self.rowTime / (subjectTime + baselineTime))
        var subjects: [Double] = []
        var baselines: [Double] = []
        for _ in 0..<min(max(rounds, Self.rounds.lowerBound), Self.rounds.upperBound) {
            subjects.append(try await pair.subject.run(subjectCount))
            baselines.append(try await pair.baseline.run(baselineCount))
        }
        try await pair.tearDown()
        let parts = Double(row.parts)
        self.init(subjects: subjects.map { $0 / parts }, baselines: baselines.map { $0 / parts })
    }

    /// How often work has to be done to fill a round, and how long that takes.
    static func calibrate(_ work: Work, roundTime: Double = roundTime) async throws -> (count: Int, time: Double) {
        // The first time is not like the others.
        _ = try await work.run(1)
        var count = 1
        while true {
            let start = Clock.now
            let each = try await work.run(count)
            let time = Double(Clock.now - start)
            if each * Double(count) >= roundTime / 2 || time >= mostTime { return (count, time) }
            count = max(count + 1, min(count * 10, Int(roundTime / max(each, 1))))
        }
    }
}
