/// Measures rows and reports them.
struct RowRun {
    let output: Options.Output
    let place: Place

    /// Measures the selected rows, or all rows.
    ///
    /// - Returns: whether every goal is met.
    func run(_ names: [String]) async throws -> Bool {
        let chosen = try Selection.choose(names, from: Table.rows + Table.orientation, by: \.name)
        let rows = names.isEmpty ? Table.rows : chosen.filter { $0.goal != nil }
        // JSON contains the goals; the other formats are for people.
        let orientation = names.isEmpty ? (output == .json ? [] : Table.orientation) : chosen.filter { $0.goal == nil }
        let isMet = try await measure(rows, "The library's work, and the same work done bare: medians.")
        return try await measure(orientation, "For orientation: what else could be used, and what the smallest program takes.") && isMet
    }

    private func measure(_ rows: [Row], _ title: String) async throws -> Bool {
        guard !rows.isEmpty else { return true }
        let report = Report(output: output)
        var missed = 0
        report.begin(title, hasGoals: rows.contains { $0.goal != nil })
        for row in rows {
            if let missing = row.missing {
                Diagnostics.print("\(row.name) is skipped: it \(missing)")
                continue
            }
            let comparison = try await Watchdog.during(row.name) { try await Comparison(of: row, in: place) }
            let outcome = Outcome(row: row, comparison: comparison)
            if outcome.isMet == false { missed += 1 }
            try report.add(outcome)
        }
        report.end()
        return missed == 0
    }
}
