import EtcdStorage
import ObservableStorage

/// The work of a process whose stores watch etcd, each on connections of its own.
struct EtcdWatcher: Equatable {
    private let port: Int
    private let prefix: String
    private let stores: Int
    private let hasOwnPrefixes: Bool

    init(port: Int, prefix: String, stores: Int, hasOwnPrefixes: Bool = false) {
        (self.port, self.prefix, self.stores, self.hasOwnPrefixes) = (port, prefix, stores, hasOwnPrefixes)
    }

    /// Reads the argument of the command line.
    init(_ argument: String) throws(UsageError) {
        let fields = argument.split(separator: ",")
        guard fields.count == 4, let port = Int(fields[0]), let stores = Int(fields[2]), let hasOwnPrefixes = Bool(String(fields[3])) else {
            throw UsageError("no watcher of etcd: \(argument)")
        }
        self.init(port: port, prefix: String(fields[1]), stores: stores, hasOwnPrefixes: hasOwnPrefixes)
    }

    /// The arguments of the command line.
    var arguments: [String] { ["--watch-etcd", "\(port),\(prefix),\(stores),\(hasOwnPrefixes)"] }

    /// Writes a byte each time when all stores have the next element.
    func watch() async throws {
        let arrivals = Lock(0)
        let arrive: @Sendable () throws -> Void = { [stores] in
            let isLast = arrivals.withLock { arrivals in
                arrivals += 1
                return arrivals.isMultiple(of: stores)
            }
            if isLast { try WatchingProcess.answer() }
        }
        var readers: [Task<Void, any Error>] = []
        for number in 0..<stores {
            let prefix = hasOwnPrefixes ? "\(prefix)\(number)" : prefix
            let store = try await ObservableStore.open(
                EtcdBackend(EtcdConfiguration(endpoints: ["127.0.0.1:\(port)"], prefix: prefix)))
            readers.append(
                Task {
                    for await value in store.values(of: .told) {
                        consume(value)
                        try arrive()
                    }
                })
        }
        for reader in readers { try await reader.value }
    }
}
