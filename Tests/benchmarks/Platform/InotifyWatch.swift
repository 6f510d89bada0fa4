#if os(Linux)
    import Foundation

    /// The minimum that detects a rename: an inotify instance, and a Dispatch source that reads it.
    ///
    /// Unchecked, because after its creation the source is only cancelled, which any thread may do.
    final class InotifyWatch: @unchecked Sendable {
        private let source: any DispatchSourceRead

        init(_ folder: String, _ onRename: @escaping @Sendable () -> Void) throws {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            try Failure.unless(descriptor >= 0, "no inotify instance can be made")
            guard inotify_add_watch(descriptor, folder, UInt32(IN_MOVED_TO)) >= 0 else {
                close(descriptor)
                throw Failure("\(folder) cannot be watched")
            }
            source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: DispatchQueue(label: "InotifyWatch"))
            source.setEventHandler {
                withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { buffer in
                    while read(descriptor, buffer.baseAddress, buffer.count) > 0 { onRename() }
                }
            }
            source.setCancelHandler { close(descriptor) }
            source.activate()
        }

        func cancel() {
            source.cancel()
        }
    }
#endif
