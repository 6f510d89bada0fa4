import Foundation

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
