import EtcdStorage
import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport

/// Stores on etcd, compared with etcd's own command and with plain requests; the server of each row keeps its files in memory.
enum EtcdRows {
    static let rows = [
        Row(
            "etcd.put", "a put by a plain request to the element of a store on etcd",
            against: "the same put to the line of `etcdctl watch`",
            goal: 1.3, missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            let (subject, task) = try await receive(server, "s", connection)
            let (baseline, watch) = try await bareReceive(server, "b", connection)
            return Pair(subject: subject, baseline: baseline) {
                task.cancel()
                withExtendedLifetime((server, watch)) {}
            }
        },
        Row(
            "etcd.transactions", "a transaction of a store on etcd, `$0[key] += 1`, one by one",
            against: "its two comparisons and two puts, by plain requests on one connection, while a store watches the keys",
            goal: 1.5, missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            let (store, watching) = (try await server.store("s"), try await server.store("b"))
            let counter = EtcdCounter("b/launchCount", "b/token", on: connection)
            return Pair(subject: transactions(store), baseline: Work { try await counter.add($0) / Double($0) }) {
                for store in [store, watching] { try await store.close() }
                withExtendedLifetime(server) {}
            }
        },
        Row(
            "etcd.open.10000", "open a store of 10,000 keys on etcd, 1.8 MB of values",
            against: "fetch its keys by plain requests in the same pages, nothing parsed", goal: 1.3, missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            try await server.fill("s", 10_000, padding: EtcdPages.padding)
            let open = Work { count in
                var total = 0.0
                for _ in 0..<count {
                    let start = Clock.now
                    let store = try await server.store("s")
                    total += Double(Clock.now - start)
                    try Failure.unless(store.isSet(StorageKey<PropertyListValue?>(SampleList.name(0))), "the store is empty")
                    try await store.close()
                }
                return total / Double(count)
            }
            return Pair(subject: open, baseline: EtcdPages("s", of: EtcdPages.ofStore).fetch(connection)) {
                withExtendedLifetime(server) {}
            }
        },
        Row(
            "etcd.event.100000", "a put by a plain request to the element of a store of 100,000 keys on etcd",
            against: "the same, 100 keys", goal: 1.5, missing: EtcdCluster.missing
        ) { _ in
            let (server, connection) = try await EtcdCluster.started()
            try await server.fill("many", 100_000)
            try await server.fill("few", 100)
            let (subject, task) = try await receive(server, "many", connection)
            let (baseline, bareTask) = try await receive(server, "few", connection)
            return Pair(subject: subject, baseline: baseline) {
                task.cancel()
                bareTask.cancel()
                withExtendedLifetime(server) {}
            }
        },
    ]

    /// Transactions of a store, each after the other.
    static func transactions(_ store: ObservableStore) -> Work {
        Work { count in
            let start = Clock.now
            for _ in 0..<count { try await store.update { $0[.launchCount] += 1 } }
            return Double(Clock.now - start) / Double(count)
        }
    }

    // MARK: - From a put to whoever watches

    /// The time from a put of an entry under a prefix to the element of a store.
    static func receive(
        _ server: EtcdCluster, _ prefix: String, _ connection: GRPCConnection
    ) async throws -> (Work, Task<Void, Never>) {
        let (arrivals, task) = await External.read(try await server.store(prefix), .told)
        return (put("\(prefix)/told", connection, arrivals), task)
    }

    /// The baseline: etcd's own command prints a line for the kind of the event, one for the key and one for the value.
    static func bareReceive(
        _ server: EtcdCluster, _ prefix: String, _ connection: GRPCConnection
    ) async throws -> (Work, RunningProgram) {
        let key = "\(prefix)/told"
        try await connection.put(key, Told.value(0))
        let arrivals = Countdown()
        let lines = Lock(0)
        var watch: RunningProgram?
        // From the first revision on, so that its first event, which has been, tells that it watches.
        _ = try await arrivals.time(1) {
            watch = try RunningProgram(companion: "etcdctl", ["--endpoints", server.endpoint, "watch", "--rev", "1", key]) { bytes in
                let complete = lines.withLock { lines in
                    let earlier = lines
                    lines += bytes.count { $0 == UInt8(ascii: "\n") }
                    return lines / 3 - earlier / 3
                }
                for _ in 0..<complete { arrivals.arrive() }
            }
        }
        guard let watch else { throw Failure("etcdctl is not started") }
        return (put(key, connection, arrivals), watch)
    }

    /// Puts other values, each after the one before has arrived at the given number of receivers.
    static func put(_ key: String, _ connection: GRPCConnection, _ arrivals: Countdown, count receivers: Int = 1) -> Work {
        var number = 0
        return Work { count in
            var times: [Double] = []
            for _ in 0..<count {
                number += 1
                let value = try Told.value(number)
                var put = Task<Void, any Error> {}
                times.append(await arrivals.time(receivers) { put = Task { try await connection.put(key, value) } }.end)
                try await put.value
            }
            return Statistics.median(times)
        }
    }
}

extension StorageKey<String> {
    /// The entry whose changes are measured.
    static let told = StorageKey("told", default: "")
}

/// The values of the entry whose changes are measured.
enum Told {
    /// A binary property list without a line feed, because `etcdctl` prints it as it is.
    static func value(_ number: Int) throws -> [UInt8] {
        let text = String(format: "%08d", number)
        let bytes = Array(try PropertyListValue.string(text).encoded(as: .binary))
        try Failure.unless(!bytes.contains(UInt8(ascii: "\n")), "a value has a line feed")
        return bytes
    }
}

/// Counts in etcd by plain requests: each compares the key with what was written last, and puts the next number.
actor EtcdCounter {
    // Besides the key, a store writes and compares a token.
    private let keys: [String]
    private let connection: GRPCConnection
    private var revision = 0 as Int64
    private var number = 0

    init(_ keys: String..., on connection: GRPCConnection) {
        (self.keys, self.connection) = (keys, connection)
    }

    /// Makes the given number of transactions, and returns the nanoseconds that they took.
    func add(_ count: Int) async throws -> Double {
        let start = Clock.now
        for _ in 0..<count {
            number += 1
            var request = GRPCConnection.Message()
            // Compares, in the order of their fields: the target is the revision of the last write, and it is equal.
            for key in keys {
                let compare = GRPCConnection.Message().number(2, 2).bytes(3, key.utf8).number(6, revision)
                request = request.bytes(1, compare.bytes)
            }
            for key in keys {
                let put = GRPCConnection.Message().bytes(1, key.utf8).bytes(2, "\(number)".utf8)
                request = request.bytes(2, GRPCConnection.Message().bytes(2, put.bytes).bytes)
            }
            let answer = try await connection.call("/etcdserverpb.KV/Txn", request)
            revision = try Self.revision(of: answer)
        }
        return Double(Clock.now - start)
    }

    /// The revision in the header of an answer to a transaction that has succeeded.
    private static func revision(of answer: [UInt8]) throws -> Int64 {
        guard answer.count > 2, answer[0] == 1 << 3 | 2 else { throw Failure("an answer without a header") }
        let (header, rest) = (answer[2..<(2 + Int(answer[1]))], answer[(2 + Int(answer[1]))...])
        guard rest.starts(with: [2 << 3, 1]) else { throw Failure("somebody else counts") }
        var fields = header
        while let field = fields.popFirst() {
            var (value, shift) = (0 as UInt64, 0 as UInt64)
            while let byte = fields.popFirst() {
                value |= UInt64(byte & 0x7F) << shift
                shift += 7
                if byte < 0x80 { break }
            }
            if field == 3 << 3 { return Int64(value) }
        }
        throw Failure("an answer without a revision")
    }
}

/// The requests for all keys under a prefix in pages, whose first keys are known beforehand.
struct EtcdPages {
    /// What makes 10,000 values of ``SampleList`` 1.8 MB.
    static let padding = 76
    /// The numbers of keys that a store asks for with these values: those of half a megabyte after the first page, 162 bytes each.
    static let ofStore = [1_000, 3_228, 3_228, 2_544]

    private let requests: [GRPCConnection.Message]

    /// - Parameter counts: the numbers of keys in the pages.
    init(_ prefix: String, of counts: [Int]) {
        let keys = (0..<counts.reduce(0, +)).map { "\(prefix)/\(SampleList.name($0))" }.sorted()
        var start = 0
        requests = counts.map { count in
            defer { start += count }
            return GRPCConnection.Message().bytes(1, keys[start].utf8).bytes(2, "\(prefix)0".utf8).number(3, Int64(count))
        }
    }

    /// Fetches all pages, one after the other.
    func fetch(_ connection: GRPCConnection) -> Work {
        Work { count in
            let start = Clock.now
            for _ in 0..<count {
                for request in requests {
                    try Failure.unless(try await connection.call("/etcdserverpb.KV/Range", request).count > 100_000, "a page is short")
                }
            }
            return Double(Clock.now - start) / Double(count)
        }
    }
}
