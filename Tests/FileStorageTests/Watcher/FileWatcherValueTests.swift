import Foundation
import Testing

@testable import ObservableStorage

/// Decisions of a watcher, without a disk or a clock.
@Suite("FileWatcher: decisions", .timeLimit(.minutes(10)))
struct FileWatcherValueTests {
    let start = ContinuousClock.now

    func at(_ milliseconds: Int) -> ContinuousClock.Instant {
        start + .milliseconds(milliseconds)
    }

    @Test("One write is checked after the quiet time") func oneWrite() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(debouncer.modified(at: at(0)) == .wake(at: at(50)))
        #expect(debouncer.woke(at: at(50)) == .process)
        #expect(debouncer.woke(at: at(60)) == .none)
    }

    @Test("Each write delays the check, with one timer") func severalWrites() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(debouncer.modified(at: at(0)) == .wake(at: at(50)))
        #expect(debouncer.modified(at: at(20)) == .none)
        #expect(debouncer.modified(at: at(40)) == .none)
        #expect(debouncer.woke(at: at(50)) == .wake(at: at(90)))
        #expect(debouncer.woke(at: at(90)) == .process)
    }

    @Test("Continuous writing is checked when the limit is reached, repeatedly") func limit() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        var wake: ContinuousClock.Instant?
        var looks: [Int] = []
        for time in 0...1200 {
            if let due = wake, at(time) >= due {
                wake = nil
                switch debouncer.woke(at: at(time)) {
                case .wake(let next): wake = next
                case .process: looks.append(time)
                case .none: Issue.record("a timer for nothing")
                }
            }
            if case .wake(let due) = debouncer.modified(at: at(time)) {
                #expect(wake == nil)
                wake = due
            }
        }
        #expect(looks == [500, 1000])
    }

    @Test("A check for another reason cancels that of the timer") func reported() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        _ = debouncer.modified(at: at(0))
        debouncer.processed()
        #expect(debouncer.woke(at: at(50)) == .none)
    }

    @Test("A write after such a check waits for its own quiet time, with the old timer") func wroteAfterLook() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        _ = debouncer.modified(at: at(0))
        debouncer.processed()
        #expect(debouncer.modified(at: at(30)) == .none)
        #expect(debouncer.woke(at: at(50)) == .wake(at: at(80)))
        #expect(debouncer.woke(at: at(80)) == .process)
    }

    static let actions: [(PathEvents, TargetState, Debouncer.Action)] = [
        (.registered, .unchanged, .process), (.modified, .ready, .wake(at: due)), (.closed, .ready, .process),
        ([.modified, .closed], .ready, .process),
        (.created, .ready, .process), (.created, .empty, .wake(at: due)), ([.created, .closed], .empty, .process),
        (.replaced, .ready, .process), (.replaced, .unchanged, .process), (.removed, .ready, .process), (.removed, .unchanged, .none),
        (.ended, .ready, .wake(at: due)), ([.replaced, .created], .empty, .process), ([.replaced, .rerouted], .ready, .process),
        (.rerouted, .empty, .process), (.rerouted, .unchanged, .none), ([.rerouted, .modified], .unchanged, .wake(at: due)),
        ([.rerouted, .closed], .unchanged, .process), ([], .ready, .none),
    ]

    static let start = ContinuousClock.now
    static let due = start + .milliseconds(50)

    @Test("The urgency of a check depends on the event", arguments: actions)
    func urgency(events: PathEvents, target: TargetState, action: Debouncer.Action) {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(debouncer.changed(events, target: target, at: Self.start) == action)
    }

    @Test("A due check is not delayed by a less urgent event, and an urgent one is made immediately") func noDelay() {
        var debouncer = Debouncer(quiet: .milliseconds(50), limit: .milliseconds(500))
        #expect(debouncer.modified(at: at(0)) == .wake(at: at(50)))
        #expect(debouncer.changed(.modified, target: .ready, mayDelay: false, at: at(40)) == .none)
        #expect(debouncer.woke(at: at(50)) == .process)
        #expect(debouncer.changed(.closed, target: .ready, mayDelay: false, at: at(60)) == .process)
    }

    @Test("Polling reports a difference twice, and then no more if a write must change the timestamps") func comparison() {
        let other = PollComparison.FileState.success(FileIdentity(device: 1, inode: 2, size: 3, modified: 4, changed: 5))
        var comparison = PollComparison(.success(nil))
        let none = PollComparison.FileState.success(nil)
        let states = [none, none, none, other, other, other, none, other, other, other]
        let news = states.map { comparison.isChanged($0, at: Date(timeIntervalSince1970: 3)) }
        #expect(news == [true, false, false, true, true, false, true, true, true, false])
    }

    @Test("While a write might not change them, polling keeps reporting") func unsureComparison() {
        let identity = PollComparison.FileState.success(FileIdentity(device: 1, inode: 2, size: 3, modified: 0, changed: 5_000_000_000))
        var comparison = PollComparison(identity)
        let news = [4, 5, 5.5, 6, 6.5, 7, 7.5, 8].map { comparison.isChanged(identity, at: Date(timeIntervalSince1970: $0)) }
        #expect(news == [true, true, true, true, true, true, true, false])
    }

    @Test("A file that cannot be checked is not a missing one, and is reported once for each error") func unreadable() {
        var comparison = PollComparison(.success(nil))
        let states: [PollComparison.FileState] = [
            .success(nil), .failure(SystemError(ELOOP)), .failure(SystemError(ELOOP)), .failure(SystemError(ELOOP)),
            .failure(SystemError(EACCES)), .failure(SystemError(EACCES)), .failure(SystemError(EACCES)), .success(nil),
        ]
        let changes = states.map { comparison.isChanged($0, at: Date(timeIntervalSince1970: 3)) }
        #expect(changes == [true, true, true, false, true, true, false, true])
    }
}
