import EtcdStorage
import Foundation
import ObservableStorage

extension StorageKey<Int> {
    /// The release that a worker has to run; 0 lets it end.
    static func release(of worker: Int) -> Self { StorageKey("release/\(worker)", default: 1) }
}

extension StorageKey<Int?> {
    /// The release that a worker runs; nil if it does not.
    static func running(_ worker: Int) -> Self { StorageKey("workers/\(worker)") }
}

/// Starts etcd, and itself three times as workers on it, gives them a new release one after the other, and kills one.
///
/// Each process has a configuration of its own: the worker's number, and the members of the cluster in another order, so that each one
/// follows another member. With a number and endpoints, it is a worker.
@main
enum Fleet {
    static let workers = 1...3

    static func main() async throws {
        let arguments = CommandLine.arguments
        if arguments.count == 3, let worker = Int(arguments[1]) {
            return try await work(as: worker, on: arguments[2].split(separator: ",").map(String.init))
        }
        guard let cluster = try Cluster() else {
            print("There is no etcd on this machine. Install it with apt-get install etcd-server, or brew install etcd.")
            exit(1)
        }
        let endpoints = cluster.endpoints
        let processes = try workers.map { worker in
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments = ["\(worker)", (endpoints[(worker - 1)...] + endpoints[..<(worker - 1)]).joined(separator: ",")]
            try process.run()
            return process
        }
        let leading = Task { try await lead(processes, cluster) }
        // Whatever goes wrong, nothing is left running.
        DispatchQueue.global().asyncAfter(deadline: .now() + 50) { leading.cancel() }
        let result = await leading.result
        for process in processes where process.isRunning { process.terminate() }
        try cluster.end()
        exit(try result.get() ? 0 : 1)
    }

    static func store(on endpoints: [String]) async throws -> ObservableStore {
        // The members need some seconds to begin.
        let configuration = EtcdConfiguration(endpoints: endpoints, prefix: "fleet", requestTimeout: .seconds(15))
        return try await ObservableStore.open(EtcdBackend(configuration))
    }

    /// A worker: runs the release that it has to, and tells everybody so as long as it runs.
    static func work(as worker: Int, on endpoints: [String]) async throws {
        let store = try await store(on: endpoints)
        var presence: Presence?
        for await release in store.values(of: .release(of: worker)) {
            if release == 0 { break }
            // A new entry replaces the earlier one; that its presence is released does not remove it.
            presence = try await store.presence("workers/\(worker)", release, timeToLive: .seconds(2))
        }
        try await presence?.end()
        try await store.close()
    }

    /// The first process: changes the settings of one worker after the other, each time after the one before has followed.
    static func lead(_ processes: [Process], _ cluster: Cluster) async throws -> Bool {
        let store = try await store(on: cluster.endpoints)
        for worker in workers { try await wait(until: worker, runs: 1, in: store) }
        for worker in workers {
            if worker == 2 {
                cluster.kill(0)
                print("the first member of etcd is killed")
            }
            store[.release(of: worker)] = 2
            try await wait(until: worker, runs: 2, in: store)
        }
        kill(processes[2].processIdentifier, SIGKILL)
        print("worker 3 is killed")
        try await wait(until: 3, runs: nil, in: store)
        for worker in workers { store[.release(of: worker)] = 0 }
        for worker in workers { try await wait(until: worker, runs: nil, in: store) }
        let isEmpty = store.snapshot.entries.keys.allSatisfy { !$0.hasPrefix("workers/") }
        try await store.close()
        return isEmpty
    }

    static func wait(until worker: Int, runs release: Int?, in store: ObservableStore) async throws {
        for await running in store.values(of: .running(worker)) where running == release { break }
        try Task.checkCancellation()
        print("worker \(worker) \(release.map { "runs release \($0)" } ?? "has gone")")
    }
}
