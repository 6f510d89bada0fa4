import Testing

@testable import prefs

@Suite("Colours", .timeLimit(.minutes(10)))
struct OutputTests {
    @Test("A terminal gets them, unless it has none or NO_COLOR is set to something")
    func terminals() {
        #expect(Output.supportsColours(isTerminal: true, environment: [:]))
        #expect(Output.supportsColours(isTerminal: true, environment: ["NO_COLOR": ""]))
        #expect(!Output.supportsColours(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(!Output.supportsColours(isTerminal: true, environment: ["TERM": "dumb"]))
        #expect(!Output.supportsColours(isTerminal: false, environment: [:]))
    }
}
