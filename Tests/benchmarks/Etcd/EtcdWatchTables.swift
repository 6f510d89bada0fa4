import Foundation
import ObservableStorage
import TestSupport

/// What a change costs etcd and those who watch it, by their number, and by that of keys and of prefixes.
enum EtcdWatchTables {
    static let all = [
        EtcdTable("etcd.stores", ["stores of one process on one prefix"] + columns, [1, 10, 100, 1_000]) { count in
            try await measure { [EtcdWatcher(port: $0.ports[0], prefix: "s", stores: count)] }
        },
        EtcdTable("etcd.processes", ["processes with one store each"] + columns, [1, 4, 16, 64]) { count in
            try await measure { server in (0..<count).map { _ in EtcdWatcher(port: server.ports[0], prefix: "s", stores: 1) } }
        },
        EtcdTable("etcd.keys", ["keys under the prefix, one store"] + columns, [100, 1_000, 10_000, 100_000]) { count in
            try await measure(keys: count) { [EtcdWatcher(port: $0.ports[0], prefix: "s", stores: 1)] }
        },
        EtcdTable("etcd.prefixes", ["other prefixes, each watched by a store"] + columns, [1, 10, 100, 1_000]) { count in
            try await measure(silentPrefixes: count) { [EtcdWatcher(port: $0.ports[0], prefix: "s", stores: 1)] }
        },
    ]

    private static let columns = [
        "put to the last element", "etcd's CPU time", "the watchers' CPU time", "etcd's CPU without changes", "the watchers'",
        "etcd's memory", "the watchers'",
    ]
    private static let idleTime = Duration.seconds(3)
    private static let measuredTime = 2e9

    private static func measure(
        keys: Int = 100, silentPrefixes: Int = 0, _ watchers: (EtcdCluster) -> [EtcdWatcher]
    ) async throws -> [String] {
        let (server, connection) = try await EtcdCluster.started()
        try await server.fill("s", keys)
        let arrivals = Countdown()
        var processes: [RunningProgram] = []
        defer { withExtendedLifetime((server, processes)) {} }
        if silentPrefixes > 0 {
            let silent = EtcdWatcher(port: server.ports[0], prefix: "other", stores: silentPrefixes, hasOwnPrefixes: true)
            processes += try await WatchingProcess.start(silent.arguments, arrivals)
        }
        let watchers = watchers(server)
        for watcher in watchers { processes += try await WatchingProcess.start(watcher.arguments, arrivals) }
        let identifiers = processes.suffix(watchers.count).map(\.processIdentifier)
        let usage = { (try ProcessUsage(of: server.processIdentifiers), try ProcessUsage(of: identifiers)) }

        let put = EtcdRows.put("s/told", connection, arrivals, count: watchers.count)
        let time = try await put.run(30)
        let idle = try await rate(usage) { try await Task.sleep(for: idleTime) }
        let count = max(50, min(Int(measuredTime / time), 3_000))
        var median = 0.0
        let start = Clock.now
        let (before, beforeWatchers) = try usage()
        median = try await put.run(count)
        let (after, afterWatchers) = try usage()
        let seconds = Double(Clock.now - start) / 1e9
        let each = { (used: Double, idle: Double) in Figures.time(max(0, used - idle * 1e9 * seconds) / Double(count)) }
        return [
            Figures.time(median), each(after.time - before.time, idle.server),
            each(afterWatchers.time - beforeWatchers.time, idle.watchers),
            percent(idle.server), percent(idle.watchers), EtcdTable.size(after.memory), EtcdTable.size(afterWatchers.memory),
        ]
    }

    /// The shares of a core that the server and the watchers take meanwhile.
    private static func rate(
        _ usage: () throws -> (ProcessUsage, ProcessUsage), during body: () async throws -> Void
    ) async throws -> (server: Double, watchers: Double) {
        let start = Clock.now
        let before = try usage()
        try await body()
        let after = try usage()
        let time = Double(Clock.now - start)
        return ((after.0.time - before.0.time) / time, (after.1.time - before.1.time) / time)
    }

    private static func percent(_ share: Double) -> String {
        String(format: "%.1f %%", share * 100)
    }
}
