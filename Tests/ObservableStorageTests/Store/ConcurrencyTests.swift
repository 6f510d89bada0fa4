import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

/// `OBSERVABLE_STORAGE_SEED` sets the seed; the outcome also depends on thread scheduling.
@Suite("Many writers and observers", .timeLimit(.minutes(isLong ? 30 : 10)))
struct ConcurrencyTests {
    static let seeds: [UInt64] = (0..<(isLong ? 200 : isOptimized ? 3 : 1)).map { firstSeed + $0 }

    @Test("In one store, every observer receives the same history, which contains every write", arguments: Fixture.quick, Self.seeds)
    func oneStore(fixture: Fixture, seed: UInt64) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let witness = StoreWitness(store)
        let writers = try await writing((0..<4).map { RandomWriter("writer\($0)", seed: seed, store: store) })
        try await store.close()
        let history = await witness.history(writers: writers)
        try expectFlawless(history, seed: seed, storage: storage)
    }

    @Test("Several stores with one backend each have a consistent history, and end with equal values", arguments: Fixture.quick, Self.seeds)
    func severalStores(fixture: Fixture, seed: UInt64) async throws {
        let storage = try fixture.make()
        let stores = try (0..<3).map { _ in try storage.open() }
        let witnesses = stores.map { StoreWitness($0) }
        var writers = stores.enumerated().flatMap { number, store in
            (0..<2).map { RandomWriter("store\(number)writer\($0)", seed: seed, store: store) }
        }
        for _ in 0..<20 {
            writers = try await writing(writers, steps: 5)
            for store in stores { try await store.flush() }
            // A transaction begins with the entries stored by then.
            for store in stores { try await store.update { _ in } }
            for store in stores { #expect(store.entries == stores[0].entries, "seed \(seed)") }
        }
        for (number, (store, witness)) in zip(stores, witnesses).enumerated() {
            try await store.close()
            let own = Array(writers[(2 * number)..<(2 * number + 2)])
            let others = Set(writers.map(\.name)).subtracting(own.map(\.name))
            try expectFlawless(await witness.history(writers: own, others: others), seed: seed, storage: storage)
        }
    }

    @Test("Observers that are added and removed meanwhile receive a contiguous part of the history", arguments: Self.seeds)
    func comingAndGoing(seed: UInt64) async throws {
        let storage = try Fixture.memory.make()
        let store = try storage.open()
        let witness = StoreWitness(store)
        let visitors = (0..<4).map { number in Task { await Visitor(store, seed: seed &+ UInt64(number) &* 1_000).visit(times: 40) } }
        let writers = try await writing((0..<2).map { RandomWriter("writer\($0)", seed: seed, store: store) }, steps: 400)
        try await store.close()
        var history = await witness.history(writers: writers)
        for visitor in visitors {
            let seen = await visitor.value
            history.views += seen.views
            history.readings += seen.readings
        }
        try expectFlawless(history, seed: seed, storage: storage)
    }

    @Test(
        "Closing while many tasks write and observe keeps what was written, and finishes every stream", arguments: Fixture.quick, Self.seeds
    )
    func closing(fixture: Fixture, seed: UInt64) async throws {
        let storage = try fixture.make()
        let store = try storage.open()
        let witness = StoreWitness(store)
        let visitors = (0..<2).map { number in Task { await Visitor(store, seed: seed &+ UInt64(number)).visit(times: 20) } }
        let writers = (0..<3).map { number in
            Task {
                var writer = RandomWriter("writer\(number)", seed: seed, store: store)
                try await writer.runUntilClosed()
                return writer
            }
        }
        var count = 0
        for await _ in store.allChanges() {
            count += 1
            if count == 150 { break }
        }
        // Several concurrently: each returns when everything is stored.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<3 { group.addTask { try await store.close() } }
            try await group.waitForAll()
        }
        var done: [RandomWriter] = []
        for writer in writers { done.append(try await writer.value) }
        var history = await witness.history(writers: done)
        for visitor in visitors {
            let seen = await visitor.value
            history.views += seen.views
            history.readings += seen.readings
        }
        try expectFlawless(history, seed: seed, storage: storage)
    }

    private func writing(_ writers: [RandomWriter], steps: Int = 100) async throws -> [RandomWriter] {
        try await withThrowingTaskGroup(of: (Int, RandomWriter).self) { group in
            for (number, writer) in writers.enumerated() {
                group.addTask {
                    var writer = writer
                    try await writer.run(steps: steps)
                    return (number, writer)
                }
            }
            var done = writers
            for try await (number, writer) in group { done[number] = writer }
            return done
        }
    }

    private func expectFlawless(_ history: History, seed: UInt64, storage: StorageFixture) throws {
        let violations = history.violations
        #expect(violations.isEmpty, "seed \(seed): \(violations.prefix(5).map(\.description).joined(separator: "\n"))")
        #expect(try storage.open().entries == history.end, "seed \(seed)")
        #expect(!history.changes.isEmpty)
    }
}
