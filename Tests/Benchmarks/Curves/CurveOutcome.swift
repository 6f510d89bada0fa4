/// A curve with what was measured for it.
struct CurveOutcome: Sendable {
    let axis: CurveAxis
    let operation: CurveOperation
    let growth: CurveGrowth
    /// Nanoseconds by how many there are.
    let points: [(x: Double, y: Double)]

    /// The power that the cost grows by over the whole axis.
    var slope: Double {
        Statistics.slope(points)
    }

    /// The same for the largest numbers alone, where what is constant at first hides nothing.
    var endSlope: Double {
        Statistics.slope(points.suffix(3))
    }

    var isMet: Bool {
        slope <= growth.goal
    }
}
