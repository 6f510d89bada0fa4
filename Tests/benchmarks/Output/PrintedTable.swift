import Foundation

/// A table on standard output, line by line: in Markdown for the documentation, or in columns for a terminal.
struct PrintedTable {
    private let isMarkdown: Bool

    init(_ columns: [String], isMarkdown: Bool) {
        self.isMarkdown = isMarkdown
        add(columns)
        if isMarkdown { print("|" + String(repeating: "---|", count: columns.count)) }
    }

    /// Prints a line.
    func add(_ cells: [String]) {
        if isMarkdown {
            print("| \(cells.joined(separator: " | ")) |")
        } else {
            let space = { (width: Int, text: String) in String(repeating: " ", count: max(0, width - text.count)) }
            print(cells[0] + space(26, cells[0]) + cells.dropFirst().map { " " + space(11, $0) + $0 }.joined())
        }
        // Standard output is buffered unless it is a terminal.
        fflush(nil)
    }

    /// The cells of all lines of a page's tables in Markdown.
    static func lines(in page: String) -> [[String]] {
        page.split(separator: "\n").filter { $0.hasPrefix("| ") }.map { $0.dropFirst(2).dropLast(2).components(separatedBy: " | ") }
    }
}

/// Human-readable numbers.
enum Figures {
    /// A time in a suitable unit, with three digits.
    static func time(_ nanoseconds: Double) -> String {
        switch nanoseconds {
        case ..<1e3: digits(nanoseconds) + " ns"
        case ..<1e6: digits(nanoseconds / 1e3) + " µs"
        case ..<1e9: digits(nanoseconds / 1e6) + " ms"
        default: digits(nanoseconds / 1e9) + " s"
        }
    }

    /// The nanoseconds of a time that is printed so; nil for another text.
    static func nanoseconds(_ text: String) -> Double? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let number = Double(parts[0]) else { return nil }
        let units: [Substring: Double] = ["ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9]
        return units[parts[1]].map { $0 * number }
    }

    /// A count, shortened.
    static func count(_ number: Int) -> String {
        switch number {
        case 1_000_000...: "\(number / 1_000_000)M"
        case 1_000...: "\(number / 1_000)k"
        default: "\(number)"
        }
    }

    /// A number of entries.
    static func entries(_ number: Int) -> String {
        "\(number.formatted(.number.locale(Locale(identifier: "en_US")))) entries"
    }

    /// A ratio with three digits; a small one as a fraction.
    static func ratio(_ ratio: Double) -> String {
        ratio < 0.2 ? "1/" + digits(1 / ratio) : digits(ratio) + " x"
    }

    /// A goal as it was declared, as a fraction if it is one.
    static func goal(_ goal: Double) -> String {
        goal < 0.2 ? "1/\(Int((1 / goal).rounded()))" : String(format: "%g x", goal)
    }

    private static func digits(_ number: Double) -> String {
        switch number {
        case ..<0.1: String(format: "%.4f", number)
        case ..<1: String(format: "%.3f", number)
        case ..<10: String(format: "%.2f", number)
        case ..<100: String(format: "%.1f", number)
        default: String(format: "%.0f", number)
        }
    }
}
