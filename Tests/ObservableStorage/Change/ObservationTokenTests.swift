import ObservableStorage
import TestSupport
import Testing

@Suite("Observation token")
struct ObservationTokenTests {
    @Test("The closure runs once, however often and however the token ends")
    func runsOnce() {
        let calls = Recorder<Int>()
        do {
            let token = ObservationToken { calls.record(1) }
            token.cancel()
            token.cancel()
        }
        #expect(calls.elements == [1])
    }

    @Test("A set keeps its tokens going, and emptying it ends them")
    func setKeepsTokens() {
        let calls = Recorder<Int>()
        var tokens: Set<ObservationToken> = []
        for number in 1...3 { ObservationToken { calls.record(number) }.store(in: &tokens) }
        #expect(calls.elements == [])
        tokens = []
        #expect(calls.elements.sorted() == [1, 2, 3])
    }
}
