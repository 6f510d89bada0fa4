/// All curves of a page's tables as one picture: a panel for each axis, all with the same scale of time.
struct CurvesPicture {
    typealias Panel = (axis: Curve.Axis, curves: [(operation: Curve.Operation, times: [Double])])

    private static let (width, height) = (470.0, 360.0)
    private static let (left, right, top, bottom) = (62.0, 150.0, 44.0, 40.0)

    let panels: [Panel]

    init(_ page: String) {
        panels = PrintedTable.lines(in: page).reduce(into: []) { panels, cells in
            if let axis = Curve.Axis(rawValue: cells[0]) {
                panels.append((axis, []))
            } else if let operation = Curve.Operation(rawValue: cells[0]), let axis = panels.last?.axis {
                let times = cells.dropFirst().prefix(axis.points.count).compactMap(Figures.nanoseconds)
                panels[panels.count - 1].curves.append((operation, times))
            }
        }
    }

    /// The picture as a complete file.
    var svg: String {
        let times = LogScale.decades(around: panels.flatMap { $0.curves.flatMap { $0.times } })
        let y = LogScale(domain: times, start: Self.height - Self.bottom, end: Self.top)
        let elements = panels.enumerated().map { index, panel in
            let place = (Double(index % 2) * Self.width, Double(index / 2) * Self.height)
            return "<g transform=\"translate(\(SVG.number(place.0)) \(SVG.number(place.1)))\">\n\(Self.elements(panel, y))</g>\n"
        }
        let rows = Double((panels.count + 1) / 2)
        return SVG.picture(
            "What it costs, in time, that there is more and more", width: Self.width * 2, height: Self.height * rows, elements.joined())
    }

    private static func elements(_ panel: Panel, _ y: LogScale) -> String {
        let points = panel.axis.points.map(Double.init)
        let x = LogScale(domain: points[0]...points[points.count - 1], start: left, end: width - right)
        var elements = SVG.text("heading", x.start, top - 18, panel.axis.rawValue)
        for decade in y.decades {
            let place = y.position(decade.time)
            elements += SVG.line("grid", x: (x.start, x.end), y: (place, place)) + SVG.text("time", x.start - 8, place + 4, decade.text)
        }
        for point in panel.axis.points {
            let place = x.position(Double(point))
            elements += SVG.line("grid", x: (place, place), y: (y.start, y.end))
            elements += SVG.text("axis", place, y.start + 18, Figures.count(point))
        }
        for curve in panel.curves {
            let places = zip(points, curve.times).map { (x.position($0), y.position($1)) }
            let path = places.map { "\(SVG.number($0)) \(SVG.number($1))" }.joined(separator: " L")
            elements += "<path class=\"\(curve.operation) line\" d=\"M\(path)\"/>\n"
            for place in places { elements += SVG.circle("\(curve.operation)", place.0, place.1, radius: 2.5) }
        }
        // The name of each line at its end.
        let ends = panel.curves.map { y.position($0.times[$0.times.count - 1]) }
        for (curve, place) in zip(panel.curves, spread(ends, gap: 15, within: y.end...y.start)) {
            elements += SVG.text("\(curve.operation) label", x.end + 10, place + 4, curve.operation.rawValue)
        }
        return elements
    }

    /// The nearest positions to the desired ones, in the same order, at least `gap` apart and inside a range if it is large enough.
    static func spread(_ wanted: [Double], gap: Double, within range: ClosedRange<Double>) -> [Double] {
        let order = wanted.indices.sorted { wanted[$0] < wanted[$1] }
        var places = wanted
        var least = range.lowerBound
        for index in order {
            places[index] = max(wanted[index], least)
            least = places[index] + gap
        }
        var most = range.upperBound
        for index in order.reversed() {
            places[index] = min(places[index], most)
            most = places[index] - gap
        }
        return places
    }
}
