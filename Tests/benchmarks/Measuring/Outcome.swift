/// A row and its measurements.
struct Outcome: Sendable {
    let row: Row
    let comparison: Comparison

    /// Whether the goal is met; nil if there is none.
    var isMet: Bool? {
        row.goal.map { comparison.ratio <= $0 }
    }
}
