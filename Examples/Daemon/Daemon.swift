import Foundation
import ObservableStorage

/// The configuration of a server. Values that are not valid together are not used; a value of another type is ignored by itself.
struct Configuration: KeyGroup {
    let port = StorageKey("port", default: 8080)
    let minimumWorkers = StorageKey("minimumWorkers", default: 1)
    let maximumWorkers = StorageKey("maximumWorkers", default: 4)

    struct Invalid: Error, CustomStringConvertible {
        let description: String
    }

    func validate(_ values: KeyedSnapshot<Configuration>) throws {
        guard (1...65_535).contains(values.port) else { throw Invalid(description: "the port \(values.port) is not in 1...65535") }
        guard 1...values.maximumWorkers ~= values.minimumWorkers else {
            throw Invalid(description: "\(values.minimumWorkers) to \(values.maximumWorkers) workers")
        }
    }
}

extension StorageKey<Int> {
    /// How many configurations have taken effect, in all runs.
    static let reloads = StorageKey("reloads", default: 0)
}

/// A daemon that uses each new configuration, and keeps the last valid one when it reads one that is not.
///
/// Usage: `Daemon CONFIGURATION STATE`. It reads the configuration, which may be reached through links as in a mounted Kubernetes
/// `ConfigMap`, and writes only its state. `SIGTERM` and `SIGINT` stop it.
@main
enum Daemon {
    static func main() async throws {
        guard CommandLine.arguments.count == 3 else {
            try FileHandle.standardError.write(contentsOf: Data("usage: Daemon CONFIGURATION STATE\n".utf8))
            exit(64)
        }
        let configuration = KeyedStore<Configuration>(try ObservableStore(at: URL(filePath: CommandLine.arguments[1])))
        let state = try ObservableStore(at: URL(filePath: CommandLine.arguments[2]))
        let service = Task { try await configuration.store.run() }
        // That closes the store, which ends the streams, and with them the loops below.
        let signals = [SIGTERM, SIGINT].map { onSignal($0) { service.cancel() } }

        let failures = Task {
            for await failure in configuration.store.failures { try say("refused: \(failure)") }
        }
        for await values in configuration.snapshots() {
            try say("in use: port \(values.port), \(values.minimumWorkers) to \(values.maximumWorkers) workers")
            state[.reloads] += 1
        }
        try await failures.value
        try await service.value
        try await state.close()
        for signal in signals { signal.cancel() }
        try say("stopped")
    }

    /// Calls a closure for each signal that arrives after this call has returned.
    static func onSignal(_ number: Int32, _ body: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
        // Otherwise the signal ends the process before the source receives it.
        signal(number, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: number)
        source.setEventHandler(handler: body)
        let registered = DispatchSemaphore(value: 0)
        source.setRegistrationHandler { registered.signal() }
        source.activate()
        // A signal that arrives before is ignored, and the service would never stop.
        registered.wait()
        return source
    }

    static func say(_ line: String) throws {
        try FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
    }
}
