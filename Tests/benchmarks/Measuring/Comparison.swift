import Foundation

/// The measurements of the rounds of a row, in nanoseconds.
struct Comparison: Codable, Sendable {
    /// One measurement for each round.
    let subjects: [Double]
    let baselines: [Double]

    var subject: Double { Statistics.median(subjects) }
    var baseline: Double { Statistics.median(baselines) }

    /// The median of the per-round ratios.
    ///
    /// Varies less than the ratio of the medians: temporary load slows both sides of a round.
    var ratio: Double {
        Statistics.median(zip(subjects, baselines).map { $0 / $1 })
    }
}

extension Comparison {
    // Long enough to hide the cost of the clock, short enough for both sides of a round to run under the same load.
    private static let roundTime = 20e6
    private static let rowTime = 4e9
    private static let rounds = 7...61
    // Work outside the measurement, such as a flush or preparing a file, takes time as well.
    private static let mostTime = 1e9

    /// Measures both sides of a row alternately.
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

    /// The number of repetitions that fill a round, and their duration.
    static func calibrate(_ work: Work, roundTime: Double = roundTime) async throws -> (count: Int, time: Double) {
        // The first run is not representative.
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

/// Statistics of a list of measurements.
enum Statistics {
    /// The middle element, or the mean of the two middle elements.
    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The exponent of the growth of y with x: the slope of the best-fitting line with logarithmic axes.
    ///
    /// 0 if y does not depend on x, 1 if it grows linearly.
    static func slope(_ points: [(x: Double, y: Double)]) -> Double {
        let logs = points.map { (x: log($0.x), y: log($0.y)) }
        let count = Double(logs.count)
        let meanX = logs.reduce(0) { $0 + $1.x } / count
        let meanY = logs.reduce(0) { $0 + $1.y } / count
        let covariance = logs.reduce(0) { $0 + ($1.x - meanX) * ($1.y - meanY) }
        let variance = logs.reduce(0) { $0 + ($1.x - meanX) * ($1.x - meanX) }
        return covariance / variance
    }
}
