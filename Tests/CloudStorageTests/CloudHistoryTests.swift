@testable import CloudStorage
import ObservableStorage
import TestSupport
import Testing

@Suite("Histories of several devices", .timeLimit(.minutes(10)))
struct CloudHistoryTests {
    @Test("However deliveries are delayed, lost, repeated and reordered, all devices end with the newest edit, and none goes back")
    func storms() {
        for seed in UInt64(0)..<600 {
            var history = CloudHistory(seed: seed, CloudHistory.Weather())
            history.run(steps: 150)
            for violation in history.violations { Issue.record("seed \(seed): \(violation)") }
        }
    }

    @Test("With right clocks, and mirrors that always run, the last edit of all wins")
    func calm() {
        for seed in UInt64(0)..<300 {
            let weather = CloudHistory.Weather(
                hasWrongClocks: false, hasRestarts: false, hasFreshInstalls: false, hasDiscards: true, hasDelayedNotifications: false)
            var history = CloudHistory(seed: seed, weather)
            history.run(steps: 150)
            #expect(history.violations == [], "seed \(seed)")
            #expect(history.namesWithoutLastEdit == [], "seed \(seed)")
        }
    }
}
