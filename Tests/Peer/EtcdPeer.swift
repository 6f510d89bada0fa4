import EtcdStorage
import Foundation
import ObservableStorage

/// A process with a store on an etcd cluster.
struct EtcdPeer {
    let configuration: EtcdConfiguration

    /// The number that all processes increment together.
    static let count = StorageKey("count", default: 0)

    /// The number of a process's own increments.
    static func count(of name: String) -> StorageKey<Int> {
        StorageKey("count.\(name)", default: 0)
    }

    /// - Parameter arguments: the command, the endpoints of the members, separated by commas, and the prefix.
    init(_ arguments: [String]) {
        configuration = EtcdConfiguration(endpoints: arguments[1].split(separator: ",").map(String.init), prefix: arguments[2])
    }

    /// Opens the store, as soon as a member responds.
    func open() async throws -> ObservableStore {
        try await ObservableStore.open(EtcdBackend(configuration))
    }

    /// Increments the shared number and its own the given number of times, each until it is known to be stored, and prints the own one.
    func increment(as name: String, times: Int) async throws {
        let store = try await open()
        try Peer.say("ready")
        _ = readLine()
        for number in 1...times { try await Self.increment(store, as: name, to: number) }
        try Peer.say("\(store[Self.count(of: name)])")
        try await store.close()
    }

    /// Stores an entry for as long as the process runs, which is until the end of standard input.
    func bePresent(_ name: String, _ value: String) async throws {
        let store = try await open()
        let presence = try await store.presence(name, value, timeToLive: .seconds(2))
        _ = readLine()
        try await presence.end()
        try await store.close()
    }

    /// Increments both numbers in one transaction, which is known to be stored when this returns.
    ///
    /// - Parameter number: what the own number is afterwards, unless something took effect twice, or not at all.
    static func increment(_ store: ObservableStore, as name: String, to number: Int) async throws {
        let own = count(of: name)
        var isUnknown = false
        while true {
            do {
                // Without a condition, unless the outcome was unknown: what takes effect twice has to be seen.
                return try await store.update { [isUnknown] transaction in
                    if isUnknown && transaction[own] >= number { return }
                    transaction[count] += 1
                    transaction[own] += 1
                }
            } catch StorageError.outcomeUnknown {
                // The own number tells it, and is read by the transaction: one that is still on its way does nothing after that.
                isUnknown = true
            } catch is StorageError {
                // It did nothing.
            }
        }
    }
}
