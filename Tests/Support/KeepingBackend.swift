import Dispatch
import ObservableStorage

/// A backend that keeps what it stores in, a folder that goes with its last owner, for as long as some store has it.
struct KeepingBackend: StorageBackend {
    private let backend: any StorageBackend
    private let place: any AnyObject & Sendable

    init(_ backend: any StorageBackend, _ place: any AnyObject & Sendable) {
        self.backend = backend
        self.place = place
    }

    var name: String {
        backend.name
    }

    var allowsNestedEdits: Bool {
        backend.allowsNestedEdits
    }

    func load() throws -> StorageEntries {
        try backend.load()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try backend.edit(body)
    }

    func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        backend.watch(on: queue, report)
    }
}
