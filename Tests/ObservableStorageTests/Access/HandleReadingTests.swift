import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A handle caches its entry, which caches the decoded value; neither may be observable.
@Suite("Reading through a handle", .timeLimit(.minutes(10)))
struct HandleReadingTests {
    /// Two numbers that are set together.
    struct Halves: Storable {
        let number: Int32
        let negated: Int32

        init(_ number: Int32) {
            (self.number, negated) = (number, ~number)
        }

        init(propertyListValue: PropertyListValue) throws {
            self.init(try Int32(propertyListValue: propertyListValue))
        }

        var propertyListValue: PropertyListValue {
            get throws { try number.propertyListValue }
        }
    }

    @Test(
        "A handle returns what was written, removed, registered or stored by another process since the last read", arguments: Fixture.quick)
    func changes(fixture: Fixture) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let key = StorageKey("count", default: 0)
        let handle = store.stored(key)
        let changes = handle.changes
        for _ in 0..<2 { #expect(handle.value == 0) }
        try store.register(1, for: key)
        for _ in 0..<2 { #expect(handle.value == 1) }
        handle.value = 2
        for _ in 0..<2 { #expect(handle.value == 2) }
        store[StorageKey<String?>("count")] = "many"
        for _ in 0..<2 { #expect(handle.value == 2) }
        try await store.update { $0[key] = 5 }
        for _ in 0..<2 { #expect(handle.value == 5) }
        handle.remove()
        for _ in 0..<2 { #expect(handle.value == 1) }
        try await store.flush()
        _ = try storage.edit { $0["count"] = 9 }
        #expect(await changes.first { $0.origin == .external }?.newValue == 9)
        for _ in 0..<2 { #expect(handle.value == 9) }
    }

    @Test("Handles of one key in several stores each return the value of their store")
    func stores() throws {
        let key = StorageKey("count", default: 0)
        let handles = try (1...3).map {
            try ObservableStore(backend: InMemoryBackend(["count": .integer(PropertyListInteger(Int64($0)))])).stored(key)
        }
        for _ in 0..<3 { #expect(handles.map(\.value) == [1, 2, 3]) }
        handles[0].value = 4
        #expect(handles.map(\.value) == [4, 2, 3])
    }

    @Test("Reads concurrent with writes return a complete value, and never an older one than before")
    func mixtures() async throws {
        let store = try ObservableStore(backend: InMemoryBackend())
        let handle = store.stored(StorageKey("halves", default: Halves(0)))
        let readings = Recorder<[Halves]>()
        let last: Int32 = 5_000
        for _ in 0..<2 {
            Thread.detachNewThread {
                var seen = [handle.value]
                while let latest = seen.last, latest.number < last {
                    let value = handle.value
                    if value.number != latest.number || value.negated != latest.negated { seen.append(value) }
                }
                readings.record(seen)
            }
        }
        Thread.detachNewThread {
            for number in 1...last { handle.value = Halves(number) }
        }
        for seen in try await readings.elements(count: 2) {
            #expect(seen.allSatisfy { $0.negated == ~$0.number })
            #expect(seen.map(\.number) == seen.map(\.number).sorted())
        }
    }
}
