import FoundationSubset
import ObservableStorage

/// Standard output, unbuffered: each line has been written when the call returns.
struct Output: Sendable {
    let descriptor: Int32
    /// Whether texts are coloured for a terminal.
    let isColoured: Bool
    var name = "standard output"

    /// The standard output of the process, in colour on a terminal.
    static var standard: Output {
        Output(
            descriptor: STDOUT_FILENO,
            isColoured: supportsColours(isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment))
    }

    /// The text as it may be written to a terminal; unchanged for files and other programs.
    func shown(_ text: String) -> String {
        isatty(descriptor) == 1 ? text.printable : text
    }

    /// Writes a line with a single system call, if the descriptor accepts all of it.
    func write(line: String) throws(CommandError) {
        try write(Array((line + "\n").utf8))
    }

    func write(_ bytes: some ContiguousBytes) throws(CommandError) {
        var start = 0
        while true {
            let (count, size) = bytes.withUnsafeBytes { bytes in
                (systemWrite(descriptor, UnsafeRawBufferPointer(rebasing: bytes[start...])), bytes.count)
            }
            if count >= 0 {
                start += count
                if start >= size { return }
            } else {
                switch errno {
                case EINTR: continue
                case EAGAIN: waitUntilReady(descriptor, for: Int16(POLLOUT))
                case EPIPE where descriptor == STDOUT_FILENO: throw .outputClosed
                case let error: throw .failed("\(name): cannot be written: \(String(cString: strerror(error)))")
                }
            }
        }
    }

    /// Calls a closure on another thread when the reader of a pipe closes it, even if nothing is being written.
    func onClose(_ body: @escaping @Sendable () -> Void) {
        // If no thread can be started, the next write detects it.
        _ = startThread {
            while true {
                // Errors and hang-ups are reported although no event is requested.
                var request = pollfd(fd: descriptor, events: 0, revents: 0)
                let count = poll(&request, 1, -1)
                if count < 0, errno == EINTR { continue }
                if count > 0, Int32(request.revents) & Int32(POLLERR | POLLHUP) != 0 { body() }
                return
            }
        }
    }
}

// MARK: - Colours

extension Output {
    /// Whether to use colours: on a terminal that supports them, unless `NO_COLOR` is set.
    static func supportsColours(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func key(_ text: String) -> String { coloured(text, "1;34") }
    func removed(_ text: String) -> String { coloured(text, "31") }
    func newValue(_ text: String) -> String { coloured(text, "32") }
    func remark(_ text: String) -> String { coloured(text, "2") }

    private func coloured(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}

// MARK: - Standard input

/// Reads standard input, or another descriptor, to its end; more bytes than a property-list file may contain are an error.
func readStandardInput(
    _ descriptor: Int32 = STDIN_FILENO, named name: String = "standard input", atMost limit: Int = FileSystemCalls.largestFileSize
) throws(CommandError) -> Data {
    var bytes = Data()
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        if count == 0 { return bytes }
        if count > 0 {
            guard count <= limit - bytes.count else { throw .failed("\(name): it has more than \(limit) bytes, which are read at most") }
            bytes.append(contentsOf: chunk[..<count])
        } else {
            switch errno {
            case EINTR: continue
            case EAGAIN: waitUntilReady(descriptor, for: Int16(POLLIN))
            case let error: throw .failed("\(name): cannot be read: \(String(cString: strerror(error)))")
            }
        }
    }
}

/// Reads a file to its end, or standard input for a lone dash.
func readInput(_ path: String) throws(CommandError) -> Data {
    guard path != "-" else { return try readStandardInput() }
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw .failed("\(path): cannot be read: \(String(cString: strerror(errno)))") }
    defer { close(descriptor) }
    return try readStandardInput(descriptor, named: path)
}

/// Waits until a descriptor that another process has made non-blocking can be read or written.
private func waitUntilReady(_ descriptor: Int32, for event: Int16) {
    var request = pollfd(fd: descriptor, events: event, revents: 0)
    _ = poll(&request, 1, -1)
}

private func systemWrite(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    write(descriptor, bytes.baseAddress, bytes.count)
}
