/// All curves as one picture: a panel for each axis, all with the same scale of time.
struct CurvePicture {
    private static let panel = (width: 470.0, height: 360.0)
    private static let columns = 2
    private static let title = "What it costs, in time, that there is more and more"

    private let outcomes: [CurveOutcome]

    init(_ outcomes: [CurveOutcome]) {
        self.outcomes = outcomes
    }

    /// The picture as a complete file.
    var svg: String {
        let axes = CurveAxis.allCases.filter { axis in outcomes.contains { $0.axis == axis } }
        let times = LogScale.decades(around: outcomes.flatMap { $0.points.map(\.y) })
        let panels = axes.enumerated().map { index, axis in
            let x = Double(index % Self.columns) * Self.panel.width
            let y = Double(index / Self.columns) * Self.panel.height
            return SVGElement(
                "g", ["transform": "translate(\(SVGElement.number(x)) \(SVGElement.number(y)))"],
                CurvePanel(axis, outcomes.filter { $0.axis == axis }, times: times, width: Self.panel.width, height: Self.panel.height)
                    .elements)
        }
        let width = SVGElement.number(Self.panel.width * Double(min(Self.columns, max(axes.count, 1))))
        let height = SVGElement.number(Self.panel.height * Double((axes.count + 1) / Self.columns))
        let picture = SVGElement(
            "svg",
            ["xmlns": "http://www.w3.org/2000/svg", "viewBox": "0 0 \(width) \(height)", "width": width, "height": height, "role": "img"],
            [
                SVGElement("title", text: Self.title), SVGElement("style", text: Self.style),
                SVGElement("rect", ["class": "paper", "width": width, "height": height]),
            ] + panels)
        return picture.text + "\n"
    }

    // Line colors of medium brightness, visible on light and dark backgrounds.
    private static let style = """
        text { font: 12px system-ui, "Helvetica Neue", "DejaVu Sans", sans-serif; fill: #555 }
        .paper { fill: #fff }
        .heading { font-size: 14px; font-weight: 600; fill: #222 }
        .grid { stroke: #e4e4e4 }
        .line { fill: none; stroke-width: 2; stroke-linejoin: round }
        .read { stroke: #2878d0; fill: #2878d0 }
        .write { stroke: #d06a10; fill: #d06a10 }
        .deliver { stroke: #23965a; fill: #23965a }
        .readers { stroke: #8a8a1c; fill: #8a8a1c }
        .external { stroke: #1a94a6; fill: #1a94a6 }
        .commit { stroke: #d0437c; fill: #d0437c }
        .open { stroke: #8c62d0; fill: #8c62d0 }
        text.label { stroke: none }
        path.line { fill: none }
        @media (prefers-color-scheme: dark) {
        text { fill: #aaa }
        .paper { fill: #1c1c1e }
        .heading { fill: #eee }
        .grid { stroke: #38383a }
        }
        """
}
