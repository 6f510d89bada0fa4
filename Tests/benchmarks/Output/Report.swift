/// Prints outcomes as they become available.
struct Report {
    let output: Options.Output

    func begin(_ title: String, hasGoals: Bool) {
        switch output {
        case .text: print("\(title)\n\n\(OutcomeLine.heading)")
        case .json: break
        case .markdown:
            print(hasGoals ? "| work | takes | against | takes | ratio | at most |" : "| work | takes | against | takes | ratio |")
            print(hasGoals ? "|---|---|---|---|---|---|" : "|---|---|---|---|---|")
        }
    }

    func add(_ outcome: Outcome) throws {
        switch output {
        case .text: print(OutcomeLine.text(outcome))
        case .json: print(try OutcomeLine.json(outcome))
        case .markdown: print(OutcomeLine.markdown(outcome))
        }
        flushOutput()
    }

    func end() {
        if output != .json { print() }
    }
}
