import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Delivery queue", .timeLimit(.minutes(10)))
struct DeliveryQueueTests {
    @Test("A thread makes a bounded number of deliveries, and another thread the rest, all in order")
    func bounded() async throws {
        let queue = DeliveryQueue(group: uniqueNumber(), .listening)
        let (made, own) = (Recorder<Int>(), Recorder<Int>())
        let thread = pthread_self()
        var deliveries = Deliveries()
        for number in 0..<200 {
            deliveries.append(to: queue) {
                if pthread_equal(pthread_self(), thread) != 0 { own.record(number) }
                made.record(number)
            }
        }
        deliveries.deliver()
        #expect(own.elements == Array(0..<DeliveryQueue.turn))
        #expect(try await made.elements(count: 200) == Array(0..<200))
    }

    @Test("A thread makes all deliveries of the first reader and the first listener, whatever is between them")
    func interleaved() async throws {
        let group = uniqueNumber()
        let queues = [DeliveryQueue(group: group, .reading(runsUserCode: true)), DeliveryQueue(group: group, .listening)]
        let own = Recorder<Int>()
        let thread = pthread_self()
        var deliveries = Deliveries()
        for number in 0..<10 {
            for (index, queue) in queues.enumerated() {
                deliveries.append(to: queue) {
                    if pthread_equal(pthread_self(), thread) != 0 { own.record(index * 100 + number) }
                }
                deliveries.append(to: DeliveryQueue(group: group, queue.kind)) {}
            }
        }
        deliveries.deliver()
        #expect(own.elements.sorted() == Array(0..<10) + Array(100..<110))
    }
}
