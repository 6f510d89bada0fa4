import Foundation

/// A row of a table in Markdown, as the benchmark prints it.
struct MeasuredRow: Equatable {
    let work: String
    /// In nanoseconds.
    let time: Double
    let baseline: String
    let baselineTime: Double
    /// As it is printed: the median of the ratios of all rounds, which is not that of the medians.
    let ratio: String

    /// The rows of all tables of a page that have a baseline and two times.
    static func all(in page: String) -> [MeasuredRow] {
        page.split(separator: "\n").compactMap { line in
            let cells = line.components(separatedBy: " | ").map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "| ")) }
            guard cells.count >= 5, let time = nanoseconds(cells[1]), let baselineTime = nanoseconds(cells[3]) else { return nil }
            return MeasuredRow(work: cells[0], time: time, baseline: cells[2], baselineTime: baselineTime, ratio: cells[4])
        }
    }

    private static func nanoseconds(_ text: String) -> Double? {
        let parts = text.split(separator: " ")
        guard parts.count == 2, let number = Double(parts[0]) else { return nil }
        let units: [Substring: Double] = ["ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9]
        return units[parts[1]].map { $0 * number }
    }

    /// Whether the baseline is what an application would use instead of the library, not a smaller program that does the same.
    var isAlternative: Bool {
        ["Foundation's", "`UserDefaults", "`set` and `synchronize()`", "a look at the file"].contains { baseline.hasPrefix($0) }
    }
}

/// The library's times beside those of the alternatives: a line from one to the other for each row.
struct TablePicture {
    private static let size = (width: 880.0, row: 46.0, top: 52.0, bottom: 34.0)
    private static let plot = (start: 400.0, end: 780.0)

    private let rows: [MeasuredRow]

    init(_ rows: [MeasuredRow]) {
        self.rows = rows
    }

    /// The picture as a complete file.
    var svg: String {
        let scale = LogScale(
            domain: LogScale.decades(around: rows.flatMap { [$0.time, $0.baselineTime] }), start: Self.plot.start, end: Self.plot.end)
        let height = Self.size.top + Self.size.row * Double(rows.count) + Self.size.bottom
        let picture = SVGElement(
            "svg",
            [
                "xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 \(SVGElement.number(Self.size.width)) \(SVGElement.number(height))",
                "width": SVGElement.number(Self.size.width), "height": SVGElement.number(height), "role": "img",
            ],
            [
                SVGElement("title", text: "Times of the library and of alternatives"), SVGElement("style", text: Self.style),
                SVGElement("rect", ["class": "paper", "width": SVGElement.number(Self.size.width), "height": SVGElement.number(height)]),
                text("heading", 16, 26, "Time on a logarithmic scale"), text("here", Self.plot.start, 26, "ObservableStorage"),
                text("there", Self.plot.start + 150, 26, "the alternative"),
            ] + grid(scale, height) + rows.enumerated().flatMap { row($1, Self.size.top + Self.size.row * (Double($0) + 0.5), scale) })
        return picture.text + "\n"
    }

    private func grid(_ scale: LogScale, _ height: Double) -> [SVGElement] {
        let end = height - Self.size.bottom
        return scale.decades.flatMap { time in
            let place = SVGElement.number(scale.position(time))
            return [
                SVGElement(
                    "line",
                    ["class": "grid", "x1": place, "x2": place, "y1": SVGElement.number(Self.size.top), "y2": SVGElement.number(end)]),
                text("axis", scale.position(time), end + 18, Figures.roundTime(time)),
            ]
        }
    }

    private func row(_ measured: MeasuredRow, _ y: Double, _ scale: LogScale) -> [SVGElement] {
        let (here, there) = (scale.position(measured.time), scale.position(measured.baselineTime))
        let center = SVGElement.number(y)
        return [
            text("work", 16, y - 3, Self.plain(measured.work)), text("against", 16, y + 13, Self.plain(measured.baseline)),
            SVGElement(
                "line",
                ["class": "gap", "x1": SVGElement.number(here), "x2": SVGElement.number(there), "y1": center, "y2": center]),
            SVGElement("circle", ["class": "here", "cx": SVGElement.number(here), "cy": center, "r": "5"]),
            SVGElement("circle", ["class": "there", "cx": SVGElement.number(there), "cy": center, "r": "5"]),
            text("ratio", Self.plot.end + 16, y + 4, measured.ratio),
        ]
    }

    private func text(_ kind: String, _ x: Double, _ y: Double, _ content: String) -> SVGElement {
        SVGElement("text", ["class": kind, "x": SVGElement.number(x), "y": SVGElement.number(y)], text: content)
    }

    private static func plain(_ markdown: String) -> String {
        markdown.replacingOccurrences(of: "`", with: "")
    }

    // Colors of medium brightness, visible on light and dark backgrounds.
    private static let style = """
        text { font: 12px system-ui, "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #555 }
        .paper { fill: #fff }
        .heading, .work { fill: #222 }
        .heading { font-size: 14px; font-weight: 600 }
        .work, .ratio { font-size: 13px }
        .ratio { font-weight: 600; fill: #2878d0 }
        .axis { text-anchor: middle }
        .grid { stroke: #e4e4e4 }
        .gap { stroke: #aaa; stroke-width: 2 }
        .here { fill: #2878d0 }
        .there { fill: #d06a10 }
        @media (prefers-color-scheme: dark) {
        text { fill: #aaa }
        .paper { fill: #1c1c1e }
        .heading, .work { fill: #eee }
        .grid { stroke: #38383a }
        .ratio, .here { fill: #5aa0e8 }
        .there { fill: #e08a3c }
        }
        """
}
