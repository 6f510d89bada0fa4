import Testing

@testable import benchmarks

@Suite(.timeLimit(.minutes(10)))
struct FiguresTests {
    @Test(
        "A time is printed in a suitable unit with three digits",
        arguments: [(0.5, "0.500 ns"), (71.26, "71.3 ns"), (1_500, "1.50 µs"), (2_345_678, "2.35 ms"), (1.2e9, "1.20 s")])
    func time(nanoseconds: Double, text: String) {
        #expect(Figures.time(nanoseconds) == text)
    }

    @Test(
        "A ratio is printed with three digits, and as a fraction if it is small",
        arguments: [(5.503, "5.50 x"), (0.25, "0.250 x"), (0.0594, "1/16.8")])
    func ratio(ratio: Double, text: String) {
        #expect(Figures.ratio(ratio) == text)
    }

    @Test("A goal is printed as it was declared", arguments: [(1.0 / 60, "1/60"), (0.25, "0.25 x"), (1.5, "1.5 x")])
    func goal(goal: Double, text: String) {
        #expect(Figures.goal(goal) == text)
    }

    @Test("A row is printed by its name, and for the documentation in words; a missed goal says so")
    func cells() {
        let row = Row("a.b", "work", against: "bare", goal: 0.5) { _ in throw Failure("is not run") }
        let outcome = Outcome(row: row, comparison: Comparison(subjects: [1], baselines: [2]))
        #expect(outcome.cells(isMarkdown: false) == ["a.b", "1.00 ns", "2.00 ns", "0.500 x", "0.5 x"])
        let missed = Outcome(row: row, comparison: Comparison(subjects: [2], baselines: [2]))
        #expect(missed.cells(isMarkdown: true) == ["work", "2.00 ns", "bare", "2.00 ns", "1.00 x", "0.5 x, missed"])
        let free = Outcome(row: Row("a.b", "work", against: "bare") { _ in throw Failure("is not run") }, comparison: outcome.comparison)
        #expect(free.cells(isMarkdown: true) == ["work", "1.00 ns", "bare", "2.00 ns", "0.500 x"])
    }

    @Test("A goal is met by a value equal to it")
    func met() {
        let row = Row("a.b", "work", against: "bare", goal: 0.5) { _ in throw Failure("is not run") }
        #expect(Outcome(row: row, comparison: Comparison(subjects: [1], baselines: [2])).isMet == true)
        #expect(Outcome(row: row, comparison: Comparison(subjects: [1.01], baselines: [2])).isMet == false)
    }
}
