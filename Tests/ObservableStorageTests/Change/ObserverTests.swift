import Testing

@testable import ObservableStorage

@Suite("Observers", .timeLimit(.minutes(10)))
struct ObserverTests {
    @Test("A list has its subscriptions in the order in which they were created, also if another thread inserts a later one first")
    func order() {
        let created = (0..<5).map { _ in Observer<Int>(onReceive: { _ in }).subscription }
        var list: [Subscription] = []
        for index in [1, 0, 4, 3, 2] { list.insert(created[index]) }
        #expect(list.map(\.id) == created.map(\.id))
        for index in [3, 0, 4, 3, 1] { list.remove(created[index]) }
        #expect(list.map(\.id) == [created[2].id])
    }
}
