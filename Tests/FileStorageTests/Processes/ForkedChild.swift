#if os(Linux)
    import Foundation
    import Testing

    /// A forked child of the test process, which waits until it is killed.
    final class ForkedChild {
        private let process: pid_t

        /// Returns after the child has begun, and has called the handlers of forks.
        init() throws {
            // Swift does not provide the call, which is safe for a child that only tells that it has begun, and waits.
            let fork = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), "fork"))
            var ends: [Int32] = [0, 0]
            try #require(pipe(&ends) == 0)
            let (source, sink) = (ends[0], ends[1])
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            defer { close(source) }
            var byte: UInt8 = 1
            process = unsafeBitCast(fork, to: (@convention(c) () -> pid_t).self)()
            if process == 0 {
                write(sink, &byte, 1)
                while true { Glibc.pause() }
            }
            close(sink)
            try #require(read(source, &byte, 1) == 1)
        }

        deinit {
            kill(process, SIGKILL)
            waitpid(process, nil, 0)
        }
    }
#endif
