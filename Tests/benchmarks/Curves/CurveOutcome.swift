/// A curve and its measurements.
struct CurveOutcome: Sendable {
    let axis: CurveAxis
    let operation: CurveOperation
    let growth: CurveGrowth
    /// Nanoseconds by size.
    let points: [(x: Double, y: Double)]

    /// The exponent of the growth over the whole axis.
    var slope: Double {
        Statistics.slope(points)
    }

    /// The same for the largest sizes only, where a constant cost does not hide growth.
    var endSlope: Double {
        Statistics.slope(points.suffix(3))
    }

    var isMet: Bool {
        slope <= growth.goal
    }
}
