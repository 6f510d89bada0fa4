import Synchronization

/// A request that calls fail instead of taking, or waiting for, the lock of a file.
///
/// The system terminates a process that holds or waits for the lock of a shared file while it is being suspended (0xDEAD10CC;
/// realm-swift#6671). Covered calls fail with ``StorageError/suspended(file:edits:)`` instead of locking.
final class Interruption: Sendable {
    /// The reasons why calls have to end.
    struct Reason: OptionSet, Sendable {
        let rawValue: UInt8

        static let suspension = Reason(rawValue: 1)
        /// The system is about to suspend the process, or has refused an activity.
        static let expiration = Reason(rawValue: 2)
        /// The process is in the background, where the system may suspend it at any time, except during an activity.
        static let background = Reason(rawValue: 4)
        /// Not a reason by itself: the system has granted an activity, which ``background`` does not interrupt.
        static let activity = Reason(rawValue: 8)
    }

    /// The interruption that covers the current call, if any.
    @TaskLocal static var current: Interruption?

    private let reasons = Atomic<UInt8>(0)

    /// Whether locks are currently neither taken nor waited for.
    var isRequested: Bool {
        let reasons = Reason(rawValue: reasons.load(ordering: .acquiring))
        if !reasons.isDisjoint(with: [.suspension, .expiration]) { return true }
        return reasons.contains(.background) && !reasons.contains(.activity)
    }

    /// Makes covered calls fail from now on.
    func request(_ reason: Reason) {
        reasons.bitwiseOr(reason.rawValue, ordering: .acquiringAndReleasing)
    }

    func withdraw(_ reason: Reason) {
        reasons.bitwiseAnd(~reason.rawValue, ordering: .acquiringAndReleasing)
    }

    /// Runs a closure that this interruption can end, on the caller's executor.
    nonisolated(nonsending) func cover<Result>(_ body: nonisolated(nonsending) () async throws -> Result) async rethrows -> Result {
        try await Self.$current.withValue(self, operation: body)
    }

    /// Runs a closure that is not interrupted, such as user code inside a covered call.
    static func withoutAny<Result>(_ body: () throws -> Result) rethrows -> Result {
        try $current.withValue(nil, operation: body)
    }
}
