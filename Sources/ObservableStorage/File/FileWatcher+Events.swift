import Dispatch

extension FileWatcher {
    /// The events of a new watcher as a stream for one reader.
    ///
    /// Events that come faster than they are read become one. The watch ends with the reading task, or when the stream is let go.
    ///
    /// - Parameter path: where the file is or will be; a relative path starts at the current folder of now.
    public static func events(at path: String) -> AsyncStream<Event> {
        events(at: path, options: FileWatcherOptions())
    }

    /// The events of a watcher that works with other means or times than the system's own.
    static func events(at path: String, options: FileWatcherOptions) -> AsyncStream<Event> {
        let slot = FileWatcherSlot()
        let queue = DispatchQueue(label: "ObservableStorage.FileWatcher")
        let watcher = FileWatcher(path: path, queue: queue, options: options) { [weak slot] in slot?.put($0) }
        return AsyncStream {
            await slot.next()
        } onCancel: {
            // This closure is also what keeps the watcher for as long as there is a stream.
            watcher.cancel()
            slot.finish()
        }
    }
}
