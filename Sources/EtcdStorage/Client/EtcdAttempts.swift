/// Decides whether a request that failed is sent again, when, and to which member.
struct EtcdAttempts: Sendable {
    typealias Instant = ContinuousClock.Instant

    typealias Retry = (changesMember: Bool, renewsToken: Bool, delay: Duration)

    private static let maximumRenewals = 2

    private let members: Int
    /// Whether the request may have taken effect at a member that did not respond.
    private(set) var mayHaveArrived = false
    private var failures = 0
    private var renewals = 0
    private var delays = 0

    init(members: Int) {
        self.members = members
    }

    /// The deadline of the next attempt, which leaves time for the other members of this round.
    func deadline(until deadline: Instant, timeout: Duration, now: Instant) -> Instant {
        now + min((deadline - now) / (members - failures % members), timeout)
    }

    /// Decides how to proceed after an error.
    ///
    /// - Parameter renewsToken: whether a new token can be fetched.
    /// - Throws: the error of the call if the request must not be sent again.
    mutating func retry(after error: any Error, renewsToken: Bool) throws -> Retry {
        switch error {
        case let failure as EtcdFailure:
            if failure.isTokenRefused, renewsToken, renewals < Self.maximumRenewals {
                renewals += 1
                // A member that lags behind the others may also refuse a new token for a while.
                return (changesMember: false, renewsToken: true, delay: renewals == 1 ? .zero : delay())
            }
            if failure.isTokenRefused { throw failure }
            if failure.isOverloaded { return (changesMember: true, renewsToken: false, delay: delay()) }
            guard failure.isOutcomeUnknown || failure.isUnavailable else { throw failure }
            if failure.isOutcomeUnknown { mayHaveArrived = true }
            // Another member would send the same response.
            if failure.isResponseTooLarge || failure.isTooLarge { throw failure }
        case let error as ConnectionError:
            if error.reason == .invalidRequest { throw error }
            if error.reason == .cancelled { throw CancellationError() }
            if error.mayHaveArrived { mayHaveArrived = true }
            // Another member would send the same response.
            if error.reason == .responseTooLarge { throw error }
        case is EtcdUnavailable:
            // No member has issued a token in time.
            return (changesMember: false, renewsToken: false, delay: delay())
        default:
            throw error
        }
        failures += 1
        return (changesMember: true, renewsToken: false, delay: failures.isMultiple(of: members) ? delay() : .zero)
    }

    private mutating func delay() -> Duration {
        delays += 1
        return .backoff(after: delays)
    }
}

extension Duration {
    /// The delay after a number of failures, from 1 on, which doubles with each, with jitter, so that clients do not retry in step.
    ///
    /// - Parameter jitter: the random part of the delay that is waited for.
    static func backoff(
        after failures: Int, from first: Duration = .milliseconds(50), to longest: Duration = .seconds(2),
        jitter: ClosedRange<Double> = 0.5...1
    ) -> Duration {
        min(first * (1 << min(failures - 1, 10)), longest) * Double.random(in: jitter)
    }
}

/// No member has responded to a request before its deadline.
///
/// An error that a member responds with is an ``EtcdFailure`` instead, unless another member is tried.
struct EtcdUnavailable: Error, CustomStringConvertible {
    let error: any Error
    /// Whether the request may have taken effect, or still do so.
    let mayHaveArrived: Bool

    var description: String { "no member of the etcd cluster responds (\(error))" }
}
