import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Delivery queue", .timeLimit(.minutes(10)))
struct DeliveryQueueTests {
    @Test("A thread makes a bounded number of deliveries, and another thread the rest, all in order")
    func bounded() async throws {
        let queue = DeliveryQueue(group: UniqueNumber.next(), .listening)
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
}
