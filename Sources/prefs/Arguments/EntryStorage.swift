import Dispatch
import EtcdStorage
import ObservableStorage

/// The storage that a command line names: the file of the operand FILE, or the keys in etcd of the option `--etcd`.
///
/// Files are read and edited without Dispatch and the concurrency runtime, so that the tool starts fast.
enum EntryStorage: Sendable {
    case file(PropertyListFile)
    case etcd(EtcdBackend)

    /// Interprets the option, or else the first operand, without accessing the storage.
    ///
    /// - Parameter requestTimeout: how long to wait for a response of etcd.
    init(_ arguments: Arguments, requestTimeout: Duration = .seconds(5)) throws(CommandError) {
        let etcd = try EtcdBackend.requested(by: arguments, requestTimeout: requestTimeout)
        self = etcd.map { .etcd($0) } ?? .file(PropertyListFile(operand: arguments.operands[0]))
    }

    var backend: any StorageBackend {
        switch self {
        case .file(let file): file
        case .etcd(let etcd): etcd
        }
    }

    var name: String { backend.name }

    /// Whether it is a JSON file, as it was last read.
    var isJSON: Bool {
        if case .file(let file) = self { file.format == .json } else { false }
    }

    /// Reads all entries. A missing file is an error, because its name may be misspelt; a prefix without keys in etcd is not.
    func existingEntries() throws -> [String: PropertyListValue] {
        switch self {
        case .file(let file): try file.existingEntries()
        case .etcd(let etcd): try etcd.wait { try await $0.load().values }
        }
    }

    /// Edits the entries in one transaction, which is durable when this returns; the closure may run again, on newer entries.
    ///
    /// - Throws: the error of the closure, and nothing is changed; `StorageError` if the edit cannot be stored.
    func edit(_ body: @escaping @Sendable (inout StorageEntries) throws -> Void) throws {
        switch self {
        case .file(let file): _ = try file.reporting { try file.editList(body) }
        case .etcd(let etcd): try etcd.wait { _ = try await $0.edit(body) }
        }
    }
}

extension EtcdBackend {
    /// Runs a task, and blocks the calling thread until it ends; not for threads of the cooperative pool.
    func wait<Success: Sendable>(_ operation: @escaping @Sendable (EtcdBackend) async throws -> Success) throws -> Success {
        let outcome = Lock<Result<Success, any Error>>(.failure(CancellationError()))
        let end = DispatchSemaphore(value: 0)
        Task {
            let result = await Task { try await operation(self) }.result
            outcome.withLock { $0 = result }
            end.signal()
        }
        end.wait()
        return try outcome.withLock { $0 }.get()
    }
}
