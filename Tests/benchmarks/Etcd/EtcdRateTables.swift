import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// How long changes take that come at a rate, and what is left in memory after many requests.
enum EtcdRateTables {
    static let all = [
        EtcdTable(
            "etcd.rate", ["puts a second, as asked for", "made", "put to the element of ten stores, median", "99th of a hundred"],
            [100, 500, 1_000, 2_000, 4_000], measure: measure),
        EtcdTable("etcd.memory", ["transactions of one store", "memory of its process"], [1_000, 10_000, 100_000]) { count in
            let (server, _) = try await EtcdCluster.started()
            let store = try await server.store("s")
            _ = try await EtcdRows.transactions(store).run(count)
            let usage = try ProcessUsage(of: [ProcessInfo.processInfo.processIdentifier])
            try await store.close()
            withExtendedLifetime(server) {}
            return [EtcdTable.size(usage.memory)]
        },
    ]

    private static let connections = 4
    private static let measuredTime = Duration.seconds(3)

    /// Puts times at a rate on several connections; listeners of ten stores find how long each took.
    private static func measure(_ rate: Int) async throws -> [String] {
        let (server, _) = try await EtcdCluster.started()
        defer { withExtendedLifetime(server) {} }
        var stores: [ObservableStore] = []
        let times = Lock<[Double]>([])
        var tokens: [ObservationToken] = []
        for _ in 0..<10 {
            let store = try await server.store("s")
            stores.append(store)
            for number in 0..<connections {
                tokens.append(
                    store.addUpdateListener(for: StorageKey("told.\(number)", default: 0)) { change in
                        let time = Double(Clock.now) - Double(change.newValue)
                        times.withLock { $0.append(time) }
                    })
            }
        }
        let start = ContinuousClock.now
        let made = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<connections {
                let connection = try server.connection()
                group.addTask {
                    var made = 0
                    while .now < start + measuredTime {
                        let value = PropertyListValue.integer(PropertyListInteger(Int64(Clock.now)))
                        try await connection.put("s/told.\(number)", Array(try value.encoded(as: .binary)))
                        made += 1
                        // From the beginning, so that a late one does not delay those after it.
                        try await Task.sleep(until: start + .seconds(1) * (Double(made * connections) / Double(rate)), clock: .continuous)
                    }
                    return made
                }
            }
            return try await group.reduce(0, +)
        }
        let seconds = (ContinuousClock.now - start) / .seconds(1)
        for store in stores { try await store.close() }
        for token in tokens { token.cancel() }
        let sorted = times.withLock { $0.sorted() }
        try Failure.unless(!sorted.isEmpty, "no change has arrived")
        return [
            "\(Int(Double(made) / seconds))", Figures.time(Statistics.median(sorted)), Figures.time(sorted[sorted.count * 99 / 100]),
        ]
    }
}
