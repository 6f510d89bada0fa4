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
        #expect(scale.decades == [10, 100, 1_000])
    }

    @Test("The axis extends from one power of ten to another around all numbers")
    func domain() {
        #expect(LogScale.decades(around: [23, 480, 7_000]) == 10...10_000)
        #expect(LogScale.decades(around: [100, 100]) == 100...1_000)
        #expect(LogScale.decades(around: []) == 1...10)
    }

    @Test("Labels keep their order and spacing, and stay inside")
    func labels() {
        #expect(LabelPlacement.spread([50, 10, 52], gap: 10, within: 0...100) == [50, 10, 60])
        #expect(LabelPlacement.spread([99, 100, 98], gap: 10, within: 0...100) == [90, 100, 80])
        #expect(LabelPlacement.spread([-5], gap: 10, within: 0...100) == [0])
    }

    @Test("The picture has a line and a label for every curve")
    func picture() {
        let outcomes = CurveTable.curves.map { curve in
            CurveOutcome(
                axis: curve.axis, operation: curve.operation, growth: curve.growth, points: curve.axis.points.map { (Double($0), 1_000) })
        }
        let svg = CurvePicture(outcomes).svg
        #expect(svg.components(separatedBy: "<path ").count - 1 == outcomes.count)
        #expect(svg.components(separatedBy: "class=\"label ").count - 1 == outcomes.count)
        #expect(!svg.contains("nan"))
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
        let parse = MeasuredRow(work: "parse", time: 2.48e6, baseline: "Foundation's parser", baselineTime: 47.1e6, ratio: "1/19.0")
        let set = MeasuredRow(
            work: "set", time: 1_500, baseline: "`UserDefaults.set(_:forKey:)`", baselineTime: 1e9, ratio: "1/666667")
        #expect(MeasuredRow.all(in: page).filter(\.isAlternative) == [parse, set])
        let svg = TablePicture([parse, set]).svg
        #expect(svg.contains(">1/19.0<") && svg.contains(">1/666667<"))
        #expect(svg.components(separatedBy: "<circle ").count - 1 == 4)
    }

    @Test("The picture in the documentation has the rows of its page")
    func committedPicture() throws {
        let documentation = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Sources/ObservableStorage/Documentation.docc")
        let rows = MeasuredRow.all(in: try String(contentsOf: documentation.appending(path: "Performance.md"), encoding: .utf8))
        let picture = try String(contentsOf: documentation.appending(path: "Resources/figures.svg"), encoding: .utf8)
        #expect(picture == TablePicture(rows.filter(\.isAlternative)).svg)
    }

    @Test("Text in a picture is escaped")
    func escaping() {
        #expect(SVGElement("text", ["x": "\""], text: "a < b & c").text == "<text x=\"&quot;\">a &lt; b &amp; c</text>")
    }
}
