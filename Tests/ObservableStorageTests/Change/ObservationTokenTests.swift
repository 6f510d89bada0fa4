import Dispatch
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Observation token", .timeLimit(.minutes(10)))
struct ObservationTokenTests {
    @Test("The closure runs exactly once, however the token ends")
    func runsOnce() {
        let calls = Recorder<Int>()
        do {
            let token = ObservationToken { calls.record(1) }
            token.cancel()
            token.cancel()
        }
        #expect(calls.elements == [1])
    }

    @Test("A set keeps its tokens alive, and emptying it cancels them")
    func setKeepsTokens() {
        let calls = Recorder<Int>()
        var tokens: Set<ObservationToken> = []
        for number in 1...3 { ObservationToken { calls.record(number) }.store(in: &tokens) }
        #expect(calls.elements == [])
        tokens = []
        #expect(calls.elements.sorted() == [1, 2, 3])
    }
}
