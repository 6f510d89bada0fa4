import Testing

@testable import prefs

@Suite("Colors", .timeLimit(.minutes(5)))
struct StyleTests {
    @Test("A terminal has colors, unless it supports none or NO_COLOR is set")
    func terminals() {
        #expect(Style(isTerminal: true, environment: [:]) == .coloured)
        #expect(Style(isTerminal: true, environment: ["NO_COLOR": ""]) == .coloured)
        #expect(Style(isTerminal: true, environment: ["NO_COLOR": "1"]) == .plain)
        #expect(Style(isTerminal: true, environment: ["TERM": "dumb"]) == .plain)
        #expect(Style(isTerminal: false, environment: [:]) == .plain)
    }
}
