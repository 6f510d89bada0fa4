import Foundation

/// An outcome as a line of output.
enum OutcomeLine {
    private static let columns = [26, 12, 12, 11, 9]

    static let heading = line(["", "subject", "bare", "ratio", "goal"])

    static func text(_ outcome: Outcome) -> String {
        let comparison = outcome.comparison
        return line([
            outcome.row.name, Figures.time(comparison.subject), Figures.time(comparison.baseline), Figures.ratio(comparison.ratio),
            outcome.row.goal.map(Figures.goal) ?? "-", outcome.isMet.map { $0 ? "met" : "MISSED" } ?? "",
        ])
    }

    private static func line(_ cells: [String]) -> String {
        let padded = zip(cells, columns).enumerated().map { index, cell in
            let space = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index == 0 ? cell.0 + space : space + cell.0
        }
        return (padded + cells.dropFirst(columns.count).map { "  " + $0 }).joined()
    }

    static func json(_ outcome: Outcome) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode(JSONLine(outcome)), as: UTF8.self)
    }

    static func markdown(_ outcome: Outcome) -> String {
        let comparison = outcome.comparison
        let cells = [
            outcome.row.work, Figures.time(comparison.subject), outcome.row.bare, Figures.time(comparison.baseline),
            Figures.ratio(comparison.ratio),
        ]
        let goal = outcome.row.goal.map { [Figures.goal($0) + (outcome.isMet == true ? "" : ", missed")] } ?? []
        return "| " + (cells + goal).joined(separator: " | ") + " |"
    }
}

private struct JSONLine: Encodable {
    enum CodingKeys: String, CodingKey {
        case name
        case subject = "subject_ns"
        case baseline = "baseline_ns"
        case ratio
        case goal
    }

    let name: String
    let subject: Double
    let baseline: Double
    let ratio: Double
    let goal: Double?

    init(_ outcome: Outcome) {
        name = outcome.row.name
        subject = outcome.comparison.subject
        baseline = outcome.comparison.baseline
        ratio = outcome.comparison.ratio
        goal = outcome.row.goal
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .name)
        try container.encode(subject, forKey: .subject)
        try container.encode(baseline, forKey: .baseline)
        try container.encode(ratio, forKey: .ratio)
        // A row without a goal has null.
        try container.encode(goal, forKey: .goal)
    }
}
