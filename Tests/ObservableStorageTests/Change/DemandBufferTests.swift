import TestSupport
import Testing

@testable import ObservableStorage

extension DemandBuffer.Call {
    fileprivate var element: Element? {
        if case .receive(let element) = self { element } else { nil }
    }

    fileprivate var isFinish: Bool {
        if case .finish = self { true } else { false }
    }
}

/// The obvious implementation: the calls are made at once, and nothing happens inside them.
private struct Model {
    let keepsAll: Bool
    var demand: Int? = 0
    var waiting: [Int] = []
    var isFinished = false
    var isEnded = false
    var received: [Int] = []
    var isTold = false

    mutating func settle() {
        while !isEnded, !waiting.isEmpty, demand != 0 {
            demand = demand.map { $0 - 1 }
            received.append(waiting.removeFirst())
        }
        if !isEnded, isFinished, waiting.isEmpty { (isEnded, isTold) = (true, true) }
    }

    mutating func append(_ element: Int) {
        guard !isEnded, !isFinished else { return }
        if !keepsAll { waiting = [] }
        waiting.append(element)
        settle()
    }
}

@Suite("Buffer of a subscriber with demand", .timeLimit(.minutes(10)))
struct DemandBufferTests {
    private func started(keepsAll: Bool) -> DemandBuffer<Int> {
        var buffer = DemandBuffer<Int>(keepsAll: keepsAll)
        #expect(buffer.delivered(demanding: 0) == nil)
        return buffer
    }

    /// Makes a call and those that follow, with no further demand.
    private func elements(_ first: DemandBuffer<Int>.Call?, of buffer: inout DemandBuffer<Int>) -> [Int] {
        var elements: [Int] = []
        var call = first
        while let element = call?.element {
            elements.append(element)
            call = buffer.delivered(demanding: 0)
        }
        return elements
    }

    @Test("Without demand there are no calls, and all elements or the newest one are kept for the first demand")
    func kept() {
        var (all, newest) = (started(keepsAll: true), started(keepsAll: false))
        for element in 1...5 {
            #expect(all.append(element).call == nil)
            #expect(newest.append(element).call == nil)
        }
        #expect(elements(all.request(2), of: &all) == [1, 2])
        #expect(elements(all.request(nil), of: &all) == [3, 4, 5])
        #expect(elements(newest.request(1), of: &newest) == [5])
        #expect(newest.append(6).call == nil)
        #expect(elements(newest.request(nil), of: &newest) == [6])
        #expect(elements(newest.append(7).call, of: &newest) == [7])
    }

    @Test("A replaced element is returned, so that it can be released outside a lock")
    func replaced() {
        var buffer = started(keepsAll: false)
        #expect(buffer.append(1).dropped == nil)
        #expect(buffer.append(2).dropped == 1)
        #expect(buffer.cancel() == [2])
    }

    private final class Counted: Sendable {
        let number: Int
        let released: Recorder<Int>

        init(_ number: Int, _ released: Recorder<Int>) {
            (self.number, self.released) = (number, released)
        }

        deinit {
            released.record(number)
        }
    }

    @Test("A delivered element is released after its delivery, not when the next one is taken under a lock")
    func released() {
        let released = Recorder<Int>()
        var buffer = DemandBuffer<Counted>(keepsAll: true)
        #expect(buffer.delivered(demanding: 0) == nil)
        for number in 1...5 { _ = buffer.append(Counted(number, released)) }
        for number in 1...2 {
            var call = buffer.request(1)
            #expect(call != nil && released.elements.count == number - 1)
            call = nil
            #expect(call == nil && released.elements == Array(1...number))
            #expect(buffer.delivered(demanding: 0) == nil)
        }
        #expect(buffer.cancel().map(\.number) == [3, 4, 5])
        #expect(released.elements == Array(1...5))
    }

    @Test("While a call is made, elements and demand are recorded, and the next call follows it", arguments: [true, false])
    func oneCallAtATime(keepsAll: Bool) {
        var buffer = started(keepsAll: keepsAll)
        #expect(buffer.request(3) == nil)
        #expect(buffer.append(1).call?.element == 1)
        #expect(buffer.append(2).call == nil)
        #expect(buffer.append(3).call == nil)
        #expect(buffer.request(1) == nil)
        #expect(buffer.append(4).call == nil)
        #expect(buffer.finish() == nil)
        #expect(buffer.delivered(demanding: 0)?.element == 2)
        #expect(buffer.delivered(demanding: 0)?.element == 3)
        #expect(buffer.delivered(demanding: 0)?.element == 4)
        #expect(buffer.delivered(demanding: 0)?.isFinish == true)
    }

    @Test("Before the subscriber has its subscription, nothing is called, not even the end")
    func beforeSubscription() {
        var buffer = DemandBuffer<Int>(keepsAll: true)
        #expect(buffer.append(1).call == nil)
        #expect(buffer.request(nil) == nil)
        #expect(buffer.finish() == nil)
        #expect(buffer.delivered(demanding: 0)?.element == 1)
        #expect(buffer.delivered(demanding: 0)?.isFinish == true)
    }

    @Test("The end follows the elements that were not demanded yet, comes once, and needs no demand itself")
    func end() {
        var buffer = started(keepsAll: true)
        _ = buffer.append(1)
        #expect(buffer.finish() == nil)
        #expect(buffer.append(2).call == nil)
        #expect(buffer.request(1)?.element == 1)
        #expect(buffer.delivered(demanding: 0)?.isFinish == true)
        #expect(buffer.request(1) == nil)
        #expect(buffer.finish() == nil)
        #expect(buffer.delivered(demanding: 1) == nil)
        var empty = started(keepsAll: false)
        #expect(empty.finish()?.isFinish == true)
    }

    @Test("After cancelling there are no calls, also if it is cancelled inside a call")
    func cancelled() {
        var buffer = started(keepsAll: true)
        _ = buffer.request(nil)
        #expect(buffer.append(1).call?.element == 1)
        _ = buffer.append(2)
        #expect(buffer.cancel() == [2])
        #expect(buffer.delivered(demanding: nil) == nil)
        #expect(buffer.append(3).call == nil)
        #expect(buffer.request(1) == nil)
        #expect(buffer.finish() == nil)
    }

    @Test("Demand that exceeds the largest number is without a limit")
    func largeDemand() {
        var buffer = started(keepsAll: true)
        #expect(buffer.request(.max) == nil)
        #expect(buffer.request(.max) == nil)
        for element in 1...3 { #expect(elements(buffer.append(element).call, of: &buffer) == [element]) }
    }

    @Test("Random sequences deliver what the obvious implementation delivers", arguments: [true, false])
    func random(keepsAll: Bool) {
        for seed in firstSeed..<(firstSeed + (isLong ? 20_000 : 1_000)) {
            var generator = SeededGenerator(seed: seed)
            var buffer = started(keepsAll: keepsAll)
            var model = Model(keepsAll: keepsAll)
            var received: [Int] = []
            var ends = 0
            for step in 0..<Int.random(in: 1...60, using: &generator) {
                var call: DemandBuffer<Int>.Call?
                switch Int.random(in: 0..<100, using: &generator) {
                case ..<60:
                    call = buffer.append(step).call
                    model.append(step)
                case ..<95:
                    let more = Int.random(in: 0..<40, using: &generator) == 0 ? nil : Int.random(in: 0...3, using: &generator)
                    call = buffer.request(more)
                    model.demand = more.flatMap { more in model.demand.map { $0 + more } }
                    model.settle()
                case ..<98:
                    call = buffer.finish()
                    model.isFinished = true
                    model.settle()
                default:
                    _ = buffer.cancel()
                    model.isEnded = true
                }
                while let present = call {
                    if let element = present.element { received.append(element) } else { ends += 1 }
                    // Demand inside a call is demand before the next one.
                    let more = Int.random(in: 0..<4, using: &generator) == 0 ? 1 : 0
                    call = buffer.delivered(demanding: more)
                    if !present.isFinish { model.demand = model.demand.map { $0 + more } }
                    model.settle()
                }
                guard received == model.received, ends == (model.isTold ? 1 : 0) else {
                    Issue.record("seed \(seed), step \(step): \(received), not \(model.received); \(ends) ends")
                    return
                }
            }
        }
    }
}
