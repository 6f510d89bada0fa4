import Foundation
import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(10)))
struct DrawingTests {
    @Test("Equal ratios are equal distances")
    func scale() {
        let scale = LogScale(domain: 10...1_000, start: 300, end: 100)
        #expect(abs(scale.position(10) - 300) < 1e-9)
        #expect(abs(scale.position(100) - 200) < 1e-9)
        #expect(abs(scale.position(1_000) - 100) < 1e-9)
        #expect(scale.decades.map { $0.time } == [10, 100, 1_000])
        #expect(scale.decades.map { $0.text } == ["10 ns", "100 ns", "1 µs"])
    }

    @Test("The axis extends from one power of ten to another around all numbers")
    func domain() {
        #expect(LogScale.decades(around: [23, 480, 7_000]) == 10...10_000)
        #expect(LogScale.decades(around: [100, 100]) == 100...1_000)
        #expect(LogScale.decades(around: []) == 1...10)
    }

    @Test("Labels keep their order and spacing, and stay inside")
    func labels() {
        #expect(CurvesPicture.spread([50, 10, 52], gap: 10, within: 0...100) == [50, 10, 60])
        #expect(CurvesPicture.spread([99, 100, 98], gap: 10, within: 0...100) == [90, 100, 80])
        #expect(CurvesPicture.spread([-5], gap: 10, within: 0...100) == [0])
    }

    @Test("Rows are read from tables as the benchmark prints them")
    func rows() {
        let page = """
            | work | takes | against | takes | ratio | at most |
            |---|---|---|---|---|---|
            | read | 36.3 ns | locked look-up | 51.7 ns | 0.699 x | 1 x |
            | parse | 2.48 ms | Foundation's parser | 47.1 ms | 1/19.0 | 1/20, missed |
            | set | 1.5 µs | `UserDefaults.set(_:forKey:)` | 1 s | 1/666667 |
            | read | 25.3 ns | 25.3 ns | 25.3 ns | 0.00 | 0.15 |
            """
        let picture = AlternativesPicture(page)
        #expect(picture.rows.map { $0.here } == [2.48e6, 1_500] && picture.rows.map { $0.there } == [47.1e6, 1e9])
        #expect(picture.rows.map { $0.cells[0] } == ["parse", "set"])
        #expect(picture.rows.map { $0.cells[2] } == ["Foundation's parser", "`UserDefaults.set(_:forKey:)`"])
        #expect(picture.svg.contains(">1/19.0<") && picture.svg.contains(">1/666667<"))
        #expect(picture.svg.components(separatedBy: "<circle ").count - 1 == 4)
    }

    @Test("The pictures in the documentation show the tables of their page: all curves, and the alternatives")
    func committedPictures() throws {
        let documentation = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/ObservableStorage/Documentation.docc")
        let text = { (path: String) in try String(contentsOf: documentation.appending(path: path), encoding: .utf8) }
        let page = try text("Performance.md")
        #expect(try text("Resources/figures.svg") == AlternativesPicture(page).svg)
        let curves = CurvesPicture(page)
        #expect(try text("Resources/curves.svg") == curves.svg)
        let names = curves.panels.flatMap { panel in panel.curves.map { "\(panel.axis).\($0.operation)" } }
        #expect(names == Curve.all.map(\.name))
        for panel in curves.panels { #expect(panel.curves.allSatisfy { $0.times.count == panel.axis.points.count }) }
        #expect(curves.svg.components(separatedBy: "<path ").count - 1 == names.count)
        #expect(curves.svg.components(separatedBy: " label\"").count - 1 == names.count)
        #expect(!curves.svg.contains("nan"))
    }

    @Test("Text in a picture is escaped")
    func escaping() {
        #expect(SVG.text("work", 1, 2.25, "a < b & c") == "<text class=\"work\" x=\"1\" y=\"2.3\">a &lt; b &amp; c</text>\n")
    }
}
