import Foundation
import ObservableStorage
import TestSupport
import Testing

@testable import class ObservableStorage.FailureReports

// Serialized, because the exit logs the failures of all stores.
@Suite("Unobserved failures", .serialized, .timeLimit(.minutes(10)))
struct FailureReportsTests {
    private let first = StorageError.unwritable(file: "settings.plist", reason: "the disk is full", edits: .kept)
    private let second = StorageError.unreadable(file: "settings.plist", reason: "no permission")

    private let lines = Recorder<String>()
    /// The closures to call after a listener had time to subscribe.
    private let graces = Recorder<@Sendable () -> Void>()

    private func make() -> FailureReports {
        FailureReports(log: { [lines] in lines.record($0) }, afterGrace: { [graces] in graces.record($0) })
    }

    private func endGrace() {
        for grace in graces.elements { grace() }
    }

    @Test("They are logged once each, with the file and the remedy, after a listener had time to subscribe")
    func logged() {
        let reports = make()
        for error in [first, second, first] { reports.report(error) }
        #expect(lines.elements.isEmpty)
        endGrace()
        let expected = [first, second].map { "ObservableStorage: \($0)" }
        #expect(lines.elements == expected)
        reports.report(first)
        endGrace()
        #expect(lines.elements == expected)
        reports.recovered()
        reports.report(first)
        endGrace()
        #expect(lines.elements == expected + [expected[0]])
    }

    @Test("The exit waits for a failure that another thread is logging")
    func waitedFor() async throws {
        let isLogging = DispatchSemaphore(value: 0)
        let mayGoOn = DispatchSemaphore(value: 0)
        let reports = FailureReports(
            log: { [lines] line in
                isLogging.signal()
                mayGoOn.wait()
                lines.record(line)
            }, afterGrace: { Thread.detachNewThread($0) })
        reports.report(first)
        isLogging.wait()
        let end = Task.detached { [lines] in
            FailureReports.logAllUndelivered()
            lines.record("ended")
        }
        // Enough time to finish, if nothing delayed it.
        for _ in 0..<20_000 where lines.elements.isEmpty { sched_yield() }
        mayGoOn.signal()
        await end.value
        #expect(lines.elements == ["ObservableStorage: \(first)", "ended"])
    }

    @Test("A failure that is observed, also shortly afterwards, is not logged, and delivered in order")
    func heard() async {
        let reports = make()
        reports.report(first)
        reports.report(second)
        let failures = reports.stream
        reports.report(first)
        endGrace()
        reports.finish()
        var heard: [StorageError] = []
        for await error in failures { heard.append(error) }
        #expect(heard == [first, second, first])
        #expect(lines.elements.isEmpty)
    }
}
