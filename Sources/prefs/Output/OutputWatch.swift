import Foundation

/// Notices that nobody reads the output any more while there is nothing to write.
enum OutputWatch {
    /// Calls a closure when the reader of a pipe has gone.
    static func onClose(of output: Output, _ body: @escaping @Sendable () -> Void) {
        Thread.detachNewThread {
            while true {
                // Errors and hang-ups are told although no event is asked for.
                var request = pollfd(fd: output.descriptor, events: 0, revents: 0)
                let count = poll(&request, 1, -1)
                if count < 0, errno == EINTR { continue }
                if count > 0, Int32(request.revents) & Int32(POLLERR | POLLHUP) != 0 { body() }
                return
            }
        }
    }
}
