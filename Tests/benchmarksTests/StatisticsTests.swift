import Foundation
import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(10)))
struct StatisticsTests {
    @Test("The median is the middle value, or the mean of the two middle values")
    func median() {
        #expect(Statistics.median([9, 1, 2]) == 2)
        #expect(Statistics.median([4, 1, 3, 100]) == 3.5)
        #expect(Statistics.median([]).isNaN)
    }

    @Test("The slope is the exponent of the growth", arguments: [0, 0.5, 1, 2])
    func slope(power: Double) {
        let points = [10, 100, 1_000, 10_000].map { (x: $0, y: 3 * pow($0, power)) }
        #expect(abs(Statistics.slope(points) - power) < 1e-9)
    }

    @Test("The slope at the end is that of the largest sizes, whatever the constant cost")
    func endSlope() {
        let points = [1.0, 10, 100, 1_000, 10_000].map { (x: $0, y: max(100, $0 * $0)) }
        let outcome = CurveOutcome(points: points, goal: 1.1)
        #expect(abs(outcome.endSlope - 2) < 1e-9)
        #expect(outcome.slope < 2)
    }

    @Test("One slow round changes neither the times nor the ratio")
    func outlier() {
        let comparison = Comparison(subjects: [2, 2, 90, 2, 2], baselines: [4, 4, 4, 4, 70])
        #expect(comparison.subject == 2)
        #expect(comparison.baseline == 4)
        #expect(comparison.ratio == 0.5)
    }
}
