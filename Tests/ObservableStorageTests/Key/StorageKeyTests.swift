import Dispatch
import ObservableStorage
import TestSupport
import Testing

@Suite("Storage key", .timeLimit(.minutes(10)))
struct StorageKeyTests {
    @Test("A default is created when it is first needed, and once for any number of threads")
    func defaultIsMadeOnce() async throws {
        let calls = Recorder<Int>()
        let key = StorageKey(
            "key",
            default: {
                calls.record(1)
                return 7
            }())
        #expect(calls.elements == [])
        DispatchQueue.concurrentPerform(iterations: 10) { _ in #expect(key.defaultValue == 7) }
        #expect(calls.elements == [1])
    }

    @Test("A key for an optional value has nil as its default")
    func optionalDefault() {
        #expect(StorageKey<Int?>("key").defaultValue == nil)
    }
}
