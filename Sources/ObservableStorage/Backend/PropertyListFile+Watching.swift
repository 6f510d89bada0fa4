public import Dispatch

extension PropertyListFile {
    /// Watches the file, also while it or its folder is missing.
    public func watch(on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void) -> ObservationToken {
        let path: AbsolutePath
        do throws(StorageError) {
            path = try self.path.get()
        } catch {
            queue.async { report(.failed(error)) }
            return ObservationToken {}
        }
        let watcher = FileWatcher(path: path.text, queue: queue) { event in
            switch event {
            case .fallback(let error), .incomplete(let error): report(.failed(error))
            case .lookAgain, .recovered: report(.changed)
            }
        }
        return ObservationToken { watcher.cancel() }
    }
}
