import Foundation
import ObservableStorage
import TestSupport

/// A helper process of a test that uses the library, or Foundation's user defaults, as requested.
@main
struct Peer {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // On a busy machine, the last writes of several processes take longer than the default exit timeout.
        ObservableStore.exitTimeout = .seconds(60)
        // These write without a pause until they are killed, which the tests need the processor for.
        if ["count", "transactions", "sets-until-killed"].contains(arguments.first) { _ = nice(10) }
        switch arguments.first {
        case "set": try set(arguments[2], to: arguments[3], in: arguments[1])
        case "set-many": try setMany(Int(arguments[3]) ?? 0, prefix: arguments[2], in: arguments[1])
        case "count": try count(to: Int(arguments[3]) ?? 0, key: arguments[2], in: arguments[1])
        case "user-defaults": setUserDefaults(arguments[2], to: Int(arguments[3]) ?? 0, in: arguments[1])
        case "read-user-defaults": try readUserDefaults(of: arguments[1])
        case "own-user-defaults": try useOwnUserDefaults()
        case "too-large-user-defaults": try makeTooLargeAnEdit()
        case "exit-inside": try await exitInside(after: arguments[2], in: arguments[1])
        case "exit": try await Exit(path: arguments[2]).run(arguments[1])
        case "suite": try await useSuite(arguments[1])
        case "source": printValues(Array(arguments.dropFirst(2)), ofSuite: arguments[1])
        case "session": await Session(path: arguments[1]).run()
        case "transactions": try await runTransactions(key: arguments[2], in: arguments[1])
        case "file-event": await showFileEvent(arguments[1])
        case "watch": try await watch(arguments[2], in: arguments[1])
        case "main-actor": try await MainQueue().run()
        case "service": try await Service(path: arguments[2]).run(arguments[1])
        case "watch-port": try await Service.watchPort(in: arguments[1])
        case "file-events": try await FileEvents(path: arguments[1]).run()
        case "many-stores": try await ManyStores(folder: arguments[1], count: Int(arguments[2]) ?? 0).run()
        case "history":
            let journal = JournalMode(argument: arguments.count > 6 ? arguments[6] : "off")
            let store = try ObservableStore(
                at: URL(fileURLWithPath: arguments[1]), configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), journal) })
            try await History.take(part: arguments[2], seed: arguments[3], steps: arguments[4], beside: arguments[5], in: store)
        case "etcd-history":
            let store = try await EtcdPeer(arguments).open()
            try await History.take(
                part: arguments[3], seed: arguments[4], steps: arguments[5], beside: arguments[6], in: store, toleratesFailures: true)
        case "etcd-increments": try await EtcdPeer(arguments).increment(as: arguments[3], times: Int(arguments[4]) ?? 0)
        case "etcd-presence": try await EtcdPeer(arguments).bePresent(arguments[3], arguments[4])
        case "etcd-load": try await EtcdLoad(arguments).run()
        case "every-type": try await EveryType.run(arguments[1], in: arguments[2])
        case "moved-settings": try await MovedSettings.run(arguments[1], arguments.count > 2 ? arguments[2] : nil)
        case "overrides": try await Overrides.run(arguments[1], arguments[2])
        case "load": try await Load(count: Int(arguments[2]) ?? 0, path: arguments[3]).run(arguments[1])
        case "sets-until-killed": try await SetsUntilKilled(Array(arguments.dropFirst())).run()
        default: throw UnknownRequest()
        }
    }

    private struct UnknownRequest: Error {}

    /// Sets a value and returns immediately.
    private static func set(_ key: String, to value: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(500) })
        try store.set(value, for: StorageKey(key, default: ""))
    }

    /// Sets many keys, one by one.
    private static func setMany(_ count: Int, prefix: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(500) })
        for number in 0..<count { try store.set(number, for: StorageKey("\(prefix)\(number)", default: 0)) }
    }

    /// Sets one key to each number in turn, with pauses of up to 5 ms.
    private static func count(to last: Int, key: String, in path: String) throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(500) })
        for number in stride(from: 1, through: last, by: 1) {
            try store.set(number, for: StorageKey(key, default: 0))
            usleep(.random(in: 0...5000))
        }
    }

    /// Prints the first event of a file watcher.
    private static func showFileEvent(_ path: String) async {
        for await event in FileWatcher.events(at: path) {
            print(event)
            return
        }
    }

    /// Increments a key forever, with transactions and flushed edits alternately, and prints each number once it is on disk.
    private static func runTransactions(key name: String, in path: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(500) })
        let key = StorageKey(name, default: 0)
        while true {
            let number = store[key] + 1
            if number.isMultiple(of: 2) {
                try await store.update { $0[key] = number }
            } else {
                try store.set(number, for: key)
                try await store.flush()
            }
            try say("\(number)")
        }
    }

    /// Prints each value of a key, and each failure.
    private static func watch(_ key: String, in path: String) async throws {
        let store = try ObservableStore(at: URL(fileURLWithPath: path), configuration: .with { $0.lockTimeout = .seconds(500) })
        let failures = Task {
            for await failure in store.failures { try say("failure: \(failure)") }
        }
        for await value in store.values(of: StorageKey(key, default: 0)) { try say("value: \(value)") }
        try await failures.value
    }

    /// Writes a line without buffering.
    static func say(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Exits inside a transaction, with an unwritten edit.
    private static func exitInside(after step: String, in path: String) async throws {
        let file = URL(fileURLWithPath: path)
        let store = try ObservableStore(at: file, configuration: .with { $0.lockTimeout = .milliseconds(1) })
        let count = StorageKey("count", default: 0)
        if step == "before" {
            let failed = DispatchSemaphore(value: 0)
            let listener = Task { [failures = store.failures] in
                for await _ in failures { failed.signal() }
            }
            // The edit cannot be written while another holder has the lock.
            let lock = open(
                file.deletingLastPathComponent().appendingPathComponent(".\(file.lastPathComponent).lock").path, O_RDWR | O_CREAT, 0o600)
            flock(lock, LOCK_EX)
            store[count] = 5
            failed.wait()
            close(lock)
            listener.cancel()
        }
        let isSetInside = step != "before"
        try await store.update { _ in
            if isSetInside { store[count] = 5 }
            exit(0)
        }
    }

    /// Uses the store of a domain, and prints whether its file can be written.
    private static func useSuite(_ name: String) async throws {
        let store = ObservableStore(suiteName: name)
        store[StorageKey("count", default: 0)] = 5
        do {
            try await store.flush()
            print("stored")
        } catch StorageError.malformed {
            // The failures are not observed: they are logged before the process exits.
            print("refused")
        }
    }

    private static func printValues(_ names: [String], ofSuite suite: String) {
        let store = ObservableStore(suiteName: suite)
        for name in names {
            print(store.value(String.self, forKey: name) ?? store.value(Int.self, forKey: name).map(String.init) ?? "none")
        }
    }

    private static func setUserDefaults(_ key: String, to value: Int, in suite: String) {
        let defaults = UserDefaults(suiteName: suite)
        defaults?.set(value, forKey: key)
        defaults?.synchronize()
    }
}
