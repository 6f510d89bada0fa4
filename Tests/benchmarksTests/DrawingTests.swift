import Foundation
import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(5)))
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

    @Test("Text in a picture is escaped")
    func escaping() {
        #expect(SVGElement("text", ["x": "\""], text: "a < b & c").text == "<text x=\"&quot;\">a &lt; b &amp; c</text>")
    }
}
