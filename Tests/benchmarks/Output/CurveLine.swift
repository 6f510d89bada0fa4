import Foundation

/// The curves of an axis as lines of output.
struct CurveLine {
    private let axis: CurveAxis
    private let isMarkdown: Bool

    init(_ axis: CurveAxis, _ output: Options.Output) {
        self.axis = axis
        isMarkdown = output == .markdown
    }

    var heading: String {
        let line = line(axis.title, axis.points.map(Self.count), "slope", "at the end", "at most", "")
        return isMarkdown ? line + "\n|" + String(repeating: "---|", count: axis.points.count + 4) : line
    }

    func text(_ outcome: CurveOutcome) -> String {
        line(
            outcome.operation.title, outcome.points.map { Figures.time($0.y) }, Self.slope(outcome.slope), Self.slope(outcome.endSlope),
            Self.slope(outcome.growth.goal), outcome.isMet ? "met" : "MISSED")
    }

    /// A count, shortened.
    static func count(_ number: Int) -> String {
        switch number {
        case 1_000_000...: "\(number / 1_000_000)M"
        case 1_000...: "\(number / 1_000)k"
        default: "\(number)"
        }
    }

    private func line(
        _ title: String, _ points: [String], _ slope: String, _ endSlope: String, _ goal: String, _ verdict: String
    ) -> String {
        guard isMarkdown else {
            return Self.pad(title, left: true) + (points + [slope, endSlope, goal]).map { Self.pad($0) }.joined() + "  " + verdict
        }
        let missed = verdict == "MISSED" ? ", missed" : ""
        return "| " + ([title] + points + [slope, endSlope, goal + missed]).joined(separator: " | ") + " |"
    }

    private static func slope(_ slope: Double) -> String {
        String(format: "%.2f", slope)
    }

    private static func pad(_ text: String, left: Bool = false) -> String {
        let space = String(repeating: " ", count: max(0, (left ? 24 : 11) - text.count))
        return left ? text + space : space + text
    }
}
