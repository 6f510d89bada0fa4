import Testing

@testable import EtcdStorage

@Suite("Attempts of a request to etcd", .timeLimit(.minutes(10)))
struct EtcdAttemptsTests {
    private static let nextMember: EtcdAttempts.Retry = (changesMember: true, renewsToken: false, delay: .zero)
    private static let newToken: EtcdAttempts.Retry = (changesMember: false, renewsToken: true, delay: .zero)

    private static let overloaded = EtcdFailure(code: 8, message: "etcdserver: too many requests")
    private static let noLeader = EtcdFailure(code: 14, message: "etcdserver: no leader")
    private static let timedOut = EtcdFailure(code: 2, message: "etcdserver: request timed out")
    private static let compacted = EtcdFailure(code: 11, message: "etcdserver: mvcc: required revision has been compacted")
    private static let refused = EtcdFailure(code: 16, message: "etcdserver: invalid auth token")

    private func error(_ reason: ConnectionError.Reason, mayHaveArrived: Bool) -> ConnectionError {
        ConnectionError(endpoint: Endpoint(host: "a", port: 1), reason: reason, mayHaveArrived: mayHaveArrived)
    }

    @Test("A request that was not sent, or that a member without a leader refused, goes to the next member")
    func nothingDone() throws {
        var attempts = EtcdAttempts(members: 5)
        let errors = [ConnectionError.Reason.closedByPeer, .deadlineExceeded].map { error($0, mayHaveArrived: false) as any Error }
        for error in errors + [Self.noLeader] {
            #expect(try attempts.retry(after: error, renewsToken: false) == Self.nextMember)
        }
        #expect(!attempts.mayHaveArrived)
    }

    @Test("A request whose outcome is unknown is sent again, and may have taken effect")
    func unknownOutcome() throws {
        for error in [error(.closedByPeer, mayHaveArrived: true), Self.timedOut] as [any Error] {
            var attempts = EtcdAttempts(members: 3)
            #expect(try attempts.retry(after: error, renewsToken: false) == Self.nextMember)
            #expect(attempts.mayHaveArrived)
        }
    }

    @Test("A cancelled request ends with the cancellation", arguments: [false, true])
    func cancellation(mayHaveArrived: Bool) {
        var attempts = EtcdAttempts(members: 3)
        let error = error(.cancelled, mayHaveArrived: mayHaveArrived)
        #expect(throws: CancellationError.self) { try attempts.retry(after: error, renewsToken: false) }
    }

    @Test("What a member refuses for a reason of the request is not sent again")
    func refusals() {
        for failure in [Self.compacted, Self.refused] {
            var attempts = EtcdAttempts(members: 3)
            #expect(throws: failure) { try attempts.retry(after: failure, renewsToken: false) }
        }
        var attempts = EtcdAttempts(members: 3)
        let invalid = error(.invalidRequest, mayHaveArrived: false)
        #expect(throws: ConnectionError.self) { try attempts.retry(after: invalid, renewsToken: false) }
    }

    @Test("A response that is too large is not asked for again; the request may have taken effect")
    func largeResponse() {
        var attempts = EtcdAttempts(members: 3)
        let error = error(.responseTooLarge, mayHaveArrived: true)
        #expect(throws: error) { try attempts.retry(after: error, renewsToken: false) }
        #expect(attempts.mayHaveArrived)
    }

    @Test("An answer that takes too much memory is not asked for again; the request may have taken effect")
    func largeAnswer() {
        var attempts = EtcdAttempts(members: 3)
        let failure = EtcdFailure(code: nil, message: "the response cannot be read", isResponseTooLarge: true)
        #expect(throws: failure) { try attempts.retry(after: failure, renewsToken: false) }
        #expect(attempts.mayHaveArrived)
    }

    @Test("A message that is too large is not sent again; it may be the response to a request that has taken effect")
    func largeMessage() {
        var attempts = EtcdAttempts(members: 3)
        let failure = EtcdFailure(code: 8, message: "grpc: received message larger than max (3 vs. 2)")
        #expect(throws: failure) { try attempts.retry(after: failure, renewsToken: false) }
        #expect(attempts.mayHaveArrived)
    }

    @Test("A refused token is renewed at once, then after a delay, and then no more")
    func tokens() throws {
        var attempts = EtcdAttempts(members: 3)
        #expect(try attempts.retry(after: Self.refused, renewsToken: true) == Self.newToken)
        let second = try attempts.retry(after: Self.refused, renewsToken: true)
        #expect(second.renewsToken && second.delay > .zero)
        #expect(throws: Self.refused) { try attempts.retry(after: Self.refused, renewsToken: true) }
        #expect(!attempts.mayHaveArrived)
    }

    @Test("A member that has too much to do is left alone for a while")
    func overload() throws {
        var attempts = EtcdAttempts(members: 3)
        let retry = try attempts.retry(after: Self.overloaded, renewsToken: false)
        #expect(retry.changesMember && retry.delay >= .milliseconds(25) && !attempts.mayHaveArrived)
    }

    @Test("Delays come after all members have failed, double, differ, and end at two seconds")
    func delays() throws {
        var sums = [Duration](repeating: .zero, count: 10)
        for _ in 0..<50 {
            var attempts = EtcdAttempts(members: 3)
            for round in 0..<10 {
                for _ in 0..<2 { #expect(try attempts.retry(after: Self.noLeader, renewsToken: false).delay == .zero) }
                let delay = try attempts.retry(after: Self.noLeader, renewsToken: false).delay
                let longest = min(.milliseconds(50 << round), Duration.seconds(2))
                #expect(delay >= longest / 2 && delay <= longest)
                sums[round] += delay
            }
        }
        #expect(sums[0] != .milliseconds(25) * 50 && sums[0] != .milliseconds(50) * 50)
    }

    @Test("An attempt leaves time for the other members, and takes no longer than the limit of one attempt")
    func deadlines() throws {
        let now = ContinuousClock.now
        var attempts = EtcdAttempts(members: 3)
        #expect(attempts.deadline(until: now + .seconds(6), timeout: .seconds(5), now: now) == now + .seconds(2))
        _ = try attempts.retry(after: Self.noLeader, renewsToken: false)
        #expect(attempts.deadline(until: now + .seconds(6), timeout: .seconds(5), now: now) == now + .seconds(3))
        #expect(attempts.deadline(until: now + .seconds(60), timeout: .seconds(5), now: now) == now + .seconds(5))
    }
}
