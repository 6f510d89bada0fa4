#if os(Linux)
    import Dispatch
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// An open inotify descriptor and the Dispatch source that reads it.
    final class InotifyInstance: Sendable {
        private static let capacity = 64 * 1024

        let descriptor: Int32
        private let source: FileWatcherSource

        /// Takes the descriptor over, and calls `handler` on the queue with what was read from it, one batch after the other.
        init(descriptor: Int32, queue: DispatchQueue, handler: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
            self.descriptor = descriptor
            // Closed any earlier, the descriptor's number could be used again and Dispatch would miss its events.
            source = FileWatcherSource(
                DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue), released: { _ = close(descriptor) },
                handler: { _ in Self.drain(descriptor, handler) })
        }

        private static func drain(_ descriptor: Int32, _ handler: (UnsafeRawBufferPointer) -> Void) {
            withUnsafeTemporaryAllocation(byteCount: capacity, alignment: 16) { buffer in
                while true {
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    if count > 0 {
                        handler(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    } else if count == 0 || errno != EINTR {
                        break
                    }
                }
            }
        }
    }
#endif
