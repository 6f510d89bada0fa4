import Foundation
import TestSupport

/// A row and its measurements.
struct Outcome: Sendable {
    let row: Row
    let comparison: Comparison

    /// Whether the goal is met; nil if there is none.
    var isMet: Bool? {
        row.goal.map { comparison.ratio <= $0 }
    }

    /// The cells of a table: what was done in words for the documentation, or by its name.
    func cells(isMarkdown: Bool) -> [String] {
        let (subject, baseline) = (Figures.time(comparison.subject), Figures.time(comparison.baseline))
        let times = isMarkdown ? [row.work, subject, row.bare, baseline] : [row.name, subject, baseline]
        return times + [Figures.ratio(comparison.ratio)] + (row.goal.map { [Figures.goal($0) + (isMet == false ? ", missed" : "")] } ?? [])
    }
}

extension Row {
    /// Measures and prints the selected rows, those without a goal after the others.
    ///
    /// - Returns: whether every goal is met.
    static func run(_ options: Options, in place: Place) async throws -> Bool {
        let rows = try options.selected(from: Table.rows + Table.orientation, by: \.name)
        var isMet = true
        for hasGoal in [true, false] {
            let rows = rows.filter { ($0.goal != nil) == hasGoal }
            guard !rows.isEmpty else { continue }
            let columns = options.isMarkdown ? ["work", "takes", "against", "takes", "ratio"] : ["", "subject", "bare", "ratio"]
            let table = PrintedTable(columns + (hasGoal ? ["at most"] : []), isMarkdown: options.isMarkdown)
            for row in rows {
                if let missing = row.missing {
                    Diagnostics.print("\(row.name) is skipped: it \(missing)")
                    continue
                }
                let outcome = Outcome(row: row, comparison: try await row.measured(in: place))
                table.add(outcome.cells(isMarkdown: options.isMarkdown))
                if outcome.isMet == false { isMet = false }
            }
            print()
        }
        return isMet
    }

    /// Measures the row in a process of its own.
    ///
    /// In memory that other rows have freed, libplist takes a quarter of its time for peers.libplist.binary.write.data.
    private func measured(in place: Place) async throws -> Comparison {
        let process = try RunningProgram.benchmarks(["--measure", name, "--in", place.base.path])
        guard try await process.status == 0, let line = process.lines.elements.last else {
            throw Failure("\(name): \(process.errors.elements.joined(separator: "\n"))")
        }
        return try JSONDecoder().decode(Comparison.self, from: Data(line.utf8))
    }

    /// Measures a row, and prints its measurements for the process that has started this one.
    static func measure(_ name: String, in place: Place) async throws {
        let row = (Table.rows + Table.orientation).first { $0.name == name }
        guard let row else { throw UsageError("no row is named \(name)") }
        let comparison = try await Watchdog.during(name) { try await Comparison(of: row, in: place) }
        print(String(decoding: try JSONEncoder().encode(comparison), as: UTF8.self))
    }
}
