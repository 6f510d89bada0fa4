public import Dispatch
public import Foundation
public import ObservableStorage
import PropertyListCoding

/// A backend as another package would implement it, with only the public protocol: a JSON file in which each entry is the base64 text
/// of a property list, for one process.
public final class JSONFileBackend: BlockingStorageBackend {
    private let file: URL
    private let queue = DispatchQueue(label: "JSONFileBackend")
    private let edits = ChangePublisher<StorageEvent>()

    /// Creates a backend for a file, which need not exist.
    public init(at file: URL) {
        self.file = file
    }

    /// The file's path.
    public var name: String {
        file.path
    }

    /// Reads the file.
    public func load() throws -> StorageEntries {
        try queue.sync { try read() }
    }

    /// Runs an edit exclusively, and replaces the file if the edit changed something.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let (entries, isEdited) = try queue.sync {
            var entries = try read()
            try body(&entries)
            guard !entries.editedKeys.isEmpty else { return (entries, false) }
            try write(entries)
            return (StorageEntries(entries.values), true)
        }
        // Not on the queue, because an observer may read.
        if isEdited { edits.publish(.changed) }
        return entries
    }

    /// Reports this backend's own edits.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let token = edits.subscribe { event in queue.async { report(event) } }
        queue.async { report(.changed) }
        return token
    }

    private func read() throws -> StorageEntries {
        guard FileManager.default.fileExists(atPath: file.path) else { return StorageEntries() }
        let lists = try JSONDecoder().decode([String: Data].self, from: Data(contentsOf: file))
        return StorageEntries(try lists.mapValues { try PropertyListValue.decode($0).value })
    }

    private func write(_ entries: StorageEntries) throws {
        let lists = try entries.values.mapValues { try $0.encoded(as: .binary) }
        try JSONEncoder().encode(lists).write(to: file, options: .atomic)
    }
}
