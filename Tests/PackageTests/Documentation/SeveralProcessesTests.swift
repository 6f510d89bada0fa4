import Foundation
import ObservableStorage
import TestSupport
import Testing

nonisolated extension StorageKey<Int> {
    fileprivate static let nextTicket = StorageKey("nextTicket", default: 0)
}

nonisolated extension StorageKey<Double> {
    fileprivate static let volume = StorageKey("volume", default: 0.8)
}

nonisolated extension StorageKey<[String]> {
    fileprivate static let jobs = StorageKey("jobs", default: [])
}

/// Two stores on one file are to each other what two processes are.
@Suite("Several processes", .timeLimit(.minutes(10)))
struct SeveralProcessesTests {
    private let folder: TemporaryFolder
    private let stores: [ObservableStore]
    private let printed = Recorder<String>()

    init() throws {
        let folder = try TemporaryFolder()
        self.folder = folder
        stores = try (0..<2).map { _ in try ObservableStore(at: folder.file("settings.plist")) }
    }

    private func print(_ line: String) {
        printed.record(line)
    }

    private func close() async throws {
        for store in stores { try await store.close() }
    }

    @Test("Changes by another process have an origin of their own")
    func origin() async throws {
        let store = stores[0]
        let reader = Task {
            // snippet: SeveralProcesses
            for await change in store.changes(of: .volume) where change.origin == .external {
                print("another process has set \(change.newValue)")
            }
            // end
        }
        // The first changes may be made before the task observes.
        for await volume in store.values(of: .volume) {
            if !printed.elements.isEmpty { break }
            try await stores[1].update { $0[.volume] = volume + 1 }
        }
        #expect(printed.elements.allSatisfy { $0.hasPrefix("another process has set ") })
        try await close()
        await reader.value
    }

    @Test("Tickets are given out once each, whoever asks")
    func tickets() async throws {
        func ticket(_ store: ObservableStore) async throws -> Int {
            // snippet: SeveralProcesses
            let ticket = try await store.update { transaction in
                transaction[.nextTicket] += 1
                return transaction[.nextTicket]
            }
            // end
            return ticket
        }
        let tickets = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<20 { group.addTask { try await ticket(stores[index % 2]) } }
            var tickets: Set<Int> = []
            for try await ticket in group { tickets.insert(ticket) }
            return tickets
        }
        #expect(tickets == Set(1...20))
        try await close()
    }

    @Test("A job is taken by one process")
    func jobs() async throws {
        func take(_ store: ObservableStore) async throws -> String? {
            // snippet: SeveralProcesses
            let job = try await store.update { transaction -> String? in
                guard let job = transaction[.jobs].first else { return nil }
                transaction[.jobs].removeFirst()
                return job
            }
            // end
            return job
        }
        try await stores[0].update { $0[.jobs] = ["a", "b"] }
        let taken = try await [take(stores[0]), take(stores[1]), take(stores[0])]
        #expect(taken == ["a", "b", nil])
        try await close()
    }
}
