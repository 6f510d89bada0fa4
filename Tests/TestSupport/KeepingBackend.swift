import Dispatch
import ObservableStorage

/// A backend that retains its temporary folder for as long as a store uses it.
struct KeepingBackend: BlockingStorageBackend, CommittingBackend {
    private let backend: any BlockingStorageBackend
    private let place: any AnyObject & Sendable

    init(_ backend: any BlockingStorageBackend, _ place: any AnyObject & Sendable) {
        self.backend = backend
        self.place = place
    }

    var name: String {
        backend.name
    }

    var allowsNestedEdits: Bool {
        (backend as? any CommittingBackend)?.allowsNestedEdits ?? false
    }

    func load() throws -> StorageEntries {
        try backend.load()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try backend.edit(body)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        backend.watch(since: revision, on: queue, report)
    }
}
