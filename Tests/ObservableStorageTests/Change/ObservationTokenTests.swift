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

    @Test("A token without a listener lasts as long as it is retained, whatever it is tied to")
    func tiedToken() {
        final class Owner {
            var token: ObservationToken?
        }
        let calls = Recorder<String>()
        var owner: Owner? = Owner()
        weak let gone = owner
        ObservationToken { calls.record("dropped") }.tie(to: owner!)
        #expect(calls.elements == ["dropped"])
        let kept = ObservationToken { calls.record("kept") }.tie(to: owner!)
        owner?.token = ObservationToken { calls.record("property") }.tie(to: owner!)
        owner = nil
        #expect(gone == nil)
        #expect(calls.elements == ["dropped", "property"])
        kept.cancel()
        #expect(calls.elements == ["dropped", "property", "kept"])
    }
}
