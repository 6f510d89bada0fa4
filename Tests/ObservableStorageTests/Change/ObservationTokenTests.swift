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

    @Test("A token tied to an object is cancelled after the object is released, even if the token is retained elsewhere")
    func tiedToken() async throws {
        final class Owner {}
        let polling = OwnerPolling(every: .milliseconds(10))
        let calls = Recorder<String>()
        var owner: Owner? = Owner()
        weak let gone = owner
        ObservationToken { calls.record("dropped") }.tie(to: owner!, checkedBy: polling)
        let kept = ObservationToken { calls.record("kept") }.tie(to: owner!, checkedBy: polling)
        ObservationToken { calls.record("cancelled") }.tie(to: owner!, checkedBy: polling).cancel()
        #expect(calls.elements == ["cancelled"])
        owner = nil
        #expect(gone == nil)
        #expect(try await calls.elements(count: 3).sorted() == ["cancelled", "dropped", "kept"])
        kept.cancel()
        #expect(calls.elements.count == 3)
    }

    @Test("A token tied to another object lasts until that one is released")
    func tiedAnew() async throws {
        final class Owner {}
        let polling = OwnerPolling(every: .milliseconds(10))
        let calls = Recorder<String>()
        let owner = Owner()
        let token = ObservationToken { calls.record("moved") }
        token.tie(to: Owner(), checkedBy: polling).tie(to: owner, checkedBy: polling)
        ObservationToken { calls.record("left") }.tie(to: Owner(), checkedBy: polling)
        // Both are checked together: if the first object counted, its token would have been cancelled by now.
        _ = try await calls.elements(count: 1)
        withExtendedLifetime(owner) {}
        token.cancel()
        #expect(calls.elements == ["left", "moved"])
    }
}
