import Foundation
import ObservableStorage

/// The configuration of a server. Values that are not valid together are not used; a value of another type is ignored by itself.
struct Configuration: KeyGroup {
    let port = StorageKey("port", default: 8080)
    let minimumWorkers = StorageKey("minimumWorkers", default: 1)
    let maximumWorkers = StorageKey("maximumWorkers", default: 4)
    /// What the server knows its clients by; it is never printed.
    let password = StorageKey<String?>("password").secret()

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
///
/// A value of the configuration is the first of these:
///
/// 1. that of the administrator's `Daemon.mandatory.plist`, in the folders of `$XDG_CONFIG_DIRS`, or else in `/etc/xdg`,
/// 2. an argument, such as `--minimum-workers 2`,
/// 3. a variable of the environment, such as `APP_PORT=80`, or the content of a file that one names: `APP_PASSWORD_FILE=/run/secrets/db`,
/// 4. that of the configuration file, JSON or a property list,
/// 5. that of the administrator's `Daemon.plist`,
/// 6. the default of the key.
///
/// All files but those of variables may change while it runs. It exits with 64 if it is not called like this, or with 78 if it cannot start
/// with the configuration.
@main
enum Daemon {
    static let overrides: [OverrideSource] = [.arguments(), .environment(prefix: "APP")]

    static func main() async throws {
        // The arguments are known before the file is.
        let given = KeyedStore<Configuration>(try ObservableStore(backend: InMemoryBackend(), overrides: overrides))
        if let name = given.unknownOverrides.first { try fail(64, "Daemon: \(name) is not a part of the configuration") }
        let files = given.remainingArguments.dropFirst().map { URL(filePath: $0) }
        guard files.count == 2 else { try fail(64, "usage: Daemon CONFIGURATION STATE") }
        let configuration = try open(files[0])
        let state = try ObservableStore(at: files[1])
        let service = Task { try await configuration.store.run() }
        // That closes the store, which ends the streams, and with them the loops below.
        let signals = [SIGTERM, SIGINT].map { onSignal($0) { service.cancel() } }

        let failures = Task {
            for await failure in configuration.store.failures { try say("refused: \(failure)") }
        }
        for await values in configuration.snapshots() {
            let origins = configuration.storedValues.compactMap(origin).map { "; \($0)" }.joined()
            try say("in use: port \(values.port), \(values.minimumWorkers) to \(values.maximumWorkers) workers\(origins)")
            state[.reloads] += 1
        }
        try await failures.value
        try await service.value
        try await state.close()
        for signal in signals { signal.cancel() }
        try say("stopped")
    }

    /// The configuration, if all of it can be used.
    static func open(_ file: URL) throws -> KeyedStore<Configuration> {
        do {
            let store = try ObservableStore(
                at: file, access: .readOnly, defaults: administratorFiles("Daemon.plist"),
                mandatory: administratorFiles("Daemon.mandatory.plist"), overrides: overrides)
            return try KeyedStore<Configuration>(store).check()
        } catch {
            try fail(78, "Daemon: \(error)")
        }
    }

    static func administratorFiles(_ name: String) -> [URL] {
        let folders = ProcessInfo.processInfo.environment["XDG_CONFIG_DIRS"] ?? "/etc/xdg"
        return folders.split(separator: ":").map { URL(filePath: String($0)).appending(path: name) }
    }

    /// Where a value comes from, if neither from the configuration file nor from the key.
    static func origin(of setting: AnyStoredValue) -> String? {
        let source = setting.source
        return source == .stored || source == .keyDefault ? nil : "\(setting.name): \(source)"
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

    static func fail(_ status: Int32, _ line: String) throws -> Never {
        try FileHandle.standardError.write(contentsOf: Data((line + "\n").utf8))
        exit(status)
    }
}
