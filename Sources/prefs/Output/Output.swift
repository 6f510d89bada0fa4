import Foundation

/// Standard output: each line is on its way when the call returns.
struct Output: Sendable {
    let descriptor: Int32
    let style: Style

    /// The process's standard output, in colour where a person reads it.
    static var standard: Output {
        Output(
            descriptor: STDOUT_FILENO,
            style: Style(isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment))
    }

    /// Writes a line in one piece.
    func write(line: String) throws(Failure) {
        try write(Array((line + "\n").utf8))
    }

    /// Writes bytes as they are.
    func write(_ bytes: some ContiguousBytes) throws(Failure) {
        var start = 0
        while true {
            let (count, size) = bytes.withUnsafeBytes { bytes in
                (systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: bytes[start...])), bytes.count)
            }
            if count >= 0 {
                start += count
                if start >= size { return }
            } else {
                try recover(from: errno)
            }
        }
    }

    private func recover(from error: Int32) throws(Failure) {
        switch error {
        case EINTR: return
        case EAGAIN: wait()
        case EPIPE: throw .closedOutput
        default: throw .impossible("standard output: cannot be written: \(String(cString: strerror(error)))")
        }
    }

    /// Waits until a descriptor that somebody made non-blocking takes more.
    private func wait() {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&request, 1, -1)
    }
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
