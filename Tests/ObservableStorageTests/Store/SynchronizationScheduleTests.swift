import Dispatch
import Testing

@testable import ObservableStorage

@Suite("The schedule of a store's attempts", .timeLimit(.minutes(10)))
struct SynchronizationScheduleTests {
    private let start = Debouncer.Instant.now

    @Test("One read is scheduled after failures, at increasing intervals, and the fourth failure is reported")
    func reads() {
        var attempts = Backoff()
        var delays: [Int] = []
        for number in 1...5 {
            guard case (.milliseconds(let delay), let isLasting)? = attempts.scheduleRetry() else { break }
            delays.append(delay)
            #expect(isLasting == (number == 4))
            // Events cause attempts too, which do not count.
            let other = attempts.scheduleRetry()
            #expect(other?.delay == nil)
            attempts.isScheduled = false
        }
        #expect(delays == [50, 100, 200, 400, 800])
        attempts.succeed()
        let delay = attempts.scheduleRetry()?.delay
        #expect(delay == .milliseconds(50))
    }

    @Test("A replay that another process prevents is repeated, at increasing intervals, with one read scheduled at a time")
    func replays() {
        var schedule = SynchronizationSchedule()
        #expect(schedule.didRead(needsReplay: true) == .milliseconds(50))
        #expect(schedule.didRead(needsReplay: true) == nil)
        schedule.reads.isScheduled = false
        #expect(schedule.didRead(needsReplay: true) == .milliseconds(100))
        schedule.reads.isScheduled = false
        #expect(schedule.didRead(needsReplay: false) == nil)
        #expect(schedule.didRead(needsReplay: true) == .milliseconds(50))
    }

    @Test("Writes take their share of the time: the next one waits 19 times as long as the shorter of the last two took")
    func pace() {
        var schedule = SynchronizationSchedule()
        #expect(schedule.writeDelay(at: start) == nil)
        schedule.didWrite(from: start, to: start + .milliseconds(100), share: 0.05)
        #expect(schedule.writeDelay(at: start + .milliseconds(100)) == .milliseconds(1_901))
        #expect(schedule.writeDelay(at: start + .milliseconds(1_999)) == .milliseconds(2))
        #expect(schedule.writeDelay(at: start + .seconds(2)) == nil)
        // One that the disk delayed does not count, and the write after it neither.
        schedule.didWrite(from: start, to: start + .seconds(1), share: 0.05)
        #expect(schedule.writeDelay(at: start + .milliseconds(1_001)) == .milliseconds(1_900))
        schedule.didWrite(from: start, to: start + .milliseconds(100), share: 0.5)
        #expect(schedule.writeDelay(at: start + .milliseconds(100)) == .milliseconds(101))
    }

    @Test("A write waits 30 seconds at most, and not at all if it may take all of the time", arguments: [0, -1, .nan, 1, .infinity])
    func limits(share: Double) {
        var schedule = SynchronizationSchedule()
        schedule.didWrite(from: start - .seconds(3), to: start, share: share)
        #expect(schedule.writeDelay(at: start) == (share >= 1 ? nil : .milliseconds(30_001)))
    }
}
