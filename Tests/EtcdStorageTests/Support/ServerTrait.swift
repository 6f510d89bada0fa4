import TestSupport
import Testing

/// Makes each test function wait until it may run its servers, before its cases begin, and with them their time limit.
///
/// A case does not wait for servers: those that are held could be of functions whose cases wait for the end of others.
struct ServerTrait: TestTrait, SuiteTrait, TestScoping {
    fileprivate let count: Int

    var isRecursive: Bool { true }

    func scopeProvider(for test: Test, testCase: Test.Case?) -> Self? {
        test.isSuite || testCase != nil ? nil : self
    }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        let permit = try await ServerPermit.acquire(count)
        try await ServerPermit.$isHeld.withValue(true) { try await function() }
        withExtendedLifetime(permit) {}
    }
}

extension Trait where Self == ServerTrait {
    /// The tests run a number of servers at a time, at most nine; all cases of a function begin together.
    static func servers(_ count: Int) -> Self {
        ServerTrait(count: count)
    }
}

#if os(macOS) || os(Linux)
    extension Trait where Self == ConditionTrait {
        /// Skips tests where etcd is not installed, and says so.
        static var needsEtcd: Self { .enabled(if: isEtcdAvailable, Comment(rawValue: etcdMissing)) }
    }
#endif
