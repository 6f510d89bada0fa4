import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Latest value of a slot", .timeLimit(.minutes(10)))
struct LatestSlotTests {
    @Test("A slow reader receives only the newest value, and then the end")
    func keepsNewest() async {
        let latest = LatestSlot()
        let stream = latest.values(of: Int.self)
        for value in 1...1_000 { latest.send(Box(value)) }
        latest.end(keepingValue: true)
        latest.send(Box(1_001))
        var seen: [Int] = []
        for await value in stream { seen.append(value) }
        #expect(seen == [1_000])
    }

    @Test("A waiting reader receives the value when it is sent")
    func wakesReader() async {
        let latest = LatestSlot()
        let reader = Task {
            for await value in latest.values(of: String.self) { return value }
            return "nothing"
        }
        latest.send(Box("something"))
        #expect(await reader.value == "something")
    }

    @Test("Cancelling the waiting task ends its stream", arguments: [true, false])
    func cancellation(isWaiting: Bool) async throws {
        let latest = LatestSlot()
        let started = Recorder<Bool>()
        let reader = Task {
            started.record(true)
            for await _ in latest.values(of: Int.self) {}
            return true
        }
        if isWaiting { _ = try await started.elements(count: 1) }
        reader.cancel()
        #expect(await reader.value)
    }

    @Test("Two readers of one stream share its values, and both end")
    func twoReaders() async throws {
        let latest = LatestSlot()
        let stream = latest.values(of: Int.self)
        let seen = Recorder<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<2 {
                group.addTask { for await value in stream { seen.record(value) } }
            }
            for value in 1...100 { latest.send(Box(value)) }
            _ = try await seen.elements { $0.contains(100) }
            latest.end(keepingValue: true)
        }
        #expect(Set(seen.elements).count == seen.elements.count)
    }
}
