/// A row with what was measured for it.
struct Outcome: Sendable {
    let row: Row
    let comparison: Comparison

    /// Whether the goal is met; nothing where there is none.
    var isMet: Bool? {
        row.goal.map { comparison.ratio <= $0 }
    }
}
