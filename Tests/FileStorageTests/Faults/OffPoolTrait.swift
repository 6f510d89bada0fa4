import Dispatch
import TestSupport
import Testing

/// Runs tests one after the other on a thread that is none of the pool's.
///
/// The pool has as many threads as the machine has cores. While tests that compute for long have them, all others wait, and the programs
/// that those have started go on writing.
struct OffPoolTrait: TestTrait, SuiteTrait, TestScoping {
    private final class Executor: TaskExecutor {
        static let shared = Executor()
        private let queue = DispatchQueue(label: "tests that compute for long")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    var isRecursive: Bool { true }

    func provideScope(for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void) async throws {
        try await withTaskExecutorPreference(Executor.shared) { try await function() }
    }
}

extension Trait where Self == OffPoolTrait {
    /// The tests compute for long, without waiting for anything.
    static var offPool: Self { OffPoolTrait() }
}

extension Trait where Self == IssueHandlingTrait {
    /// Each issue tells the seed with which the tests visit the same steps again.
    static var namingSeed: Self {
        .compactMapIssues { issue in
            var issue = issue
            issue.comments.append("repeat with OBSERVABLE_STORAGE_SEED=\(firstSeed)")
            return issue
        }
    }
}
