import Foundation

/// What a list of measurements comes to.
enum Statistics {
    /// The middle one, or the mean of the two in the middle.
    static func median(_ values: [Double]) -> Double {
        guard !values.isEmpty else { return .nan }
        let sorted = values.sorted()
        let middle = sorted.count / 2
        return sorted.count.isMultiple(of: 2) ? (sorted[middle - 1] + sorted[middle]) / 2 : sorted[middle]
    }

    /// The power of x that y grows by: the slope of the line that fits the points best when both axes are logarithmic.
    ///
    /// 0 where y does not depend on x, 1 where it grows in proportion.
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
