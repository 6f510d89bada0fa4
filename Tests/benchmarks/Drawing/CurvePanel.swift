/// The curves of one axis.
struct CurvePanel {
    private static let margin = (left: 62.0, right: 150.0, top: 44.0, bottom: 40.0)
    private static let labelGap = 15.0

    private let axis: CurveAxis
    private let outcomes: [CurveOutcome]
    private let x: LogScale
    private let y: LogScale

    init(_ axis: CurveAxis, _ outcomes: [CurveOutcome], times: ClosedRange<Double>, width: Double, height: Double) {
        self.axis = axis
        self.outcomes = outcomes
        let points = axis.points.map(Double.init)
        x = LogScale(domain: points[0]...points[points.count - 1], start: Self.margin.left, end: width - Self.margin.right)
        y = LogScale(domain: times, start: height - Self.margin.bottom, end: Self.margin.top)
    }

    var elements: [SVGElement] {
        let heading = SVGElement(
            "text", ["class": "heading", "x": SVGElement.number(x.start), "y": SVGElement.number(Self.margin.top - 18)], text: axis.title)
        return [heading] + horizontalGrid + verticalGrid + outcomes.flatMap(line) + labels
    }

    private var horizontalGrid: [SVGElement] {
        y.decades.flatMap { time in
            let place = SVGElement.number(y.position(time))
            return [
                SVGElement(
                    "line", ["class": "grid", "x1": SVGElement.number(x.start), "x2": SVGElement.number(x.end), "y1": place, "y2": place]),
                SVGElement(
                    "text", ["x": SVGElement.number(x.start - 8), "y": SVGElement.number(y.position(time) + 4), "text-anchor": "end"],
                    text: Figures.roundTime(time)),
            ]
        }
    }

    private var verticalGrid: [SVGElement] {
        axis.points.flatMap { point in
            let place = SVGElement.number(x.position(Double(point)))
            return [
                SVGElement(
                    "line", ["class": "grid", "x1": place, "x2": place, "y1": SVGElement.number(y.start), "y2": SVGElement.number(y.end)]),
                SVGElement(
                    "text", ["x": place, "y": SVGElement.number(y.start + 18), "text-anchor": "middle"], text: CurveLine.count(point)),
            ]
        }
    }

    private func line(_ outcome: CurveOutcome) -> [SVGElement] {
        let places = outcome.points.map { (x: SVGElement.number(x.position($0.x)), y: SVGElement.number(y.position($0.y))) }
        let path = "M" + places.map { "\($0.x) \($0.y)" }.joined(separator: " L")
        let kind = outcome.operation.rawValue
        return [SVGElement("path", ["class": "line \(kind)", "d": path])]
            + places.map { SVGElement("circle", ["class": kind, "cx": $0.x, "cy": $0.y, "r": "2.5"]) }
    }

    /// The name of each line at its end.
    private var labels: [SVGElement] {
        let ends = outcomes.map { y.position($0.points[$0.points.count - 1].y) }
        let places = LabelPlacement.spread(ends, gap: Self.labelGap, within: y.end...y.start)
        return zip(outcomes, places).map { outcome, place in
            SVGElement(
                "text",
                ["class": "label \(outcome.operation.rawValue)", "x": SVGElement.number(x.end + 10), "y": SVGElement.number(place + 4)],
                text: outcome.operation.title)
        }
    }
}
