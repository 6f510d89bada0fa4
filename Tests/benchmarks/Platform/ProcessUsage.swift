import Foundation

/// What processes have used so far, as Linux tells it.
struct ProcessUsage {
    /// Nanoseconds of all threads, in steps of ten milliseconds.
    var time = 0.0
    /// Resident bytes.
    var memory = 0.0

    /// Adds up the usage of processes.
    init(of processes: [Int32]) throws {
        for process in processes {
            let status = try Self.text("/proc/\(process)/stat")
            // The name of the program, in parentheses, may have spaces.
            let fields = status[(status.lastIndex(of: ")") ?? status.startIndex)...].split(separator: " ")
            guard fields.count > 21, let user = Double(fields[12]), let system = Double(fields[13]), let pages = Double(fields[22]) else {
                throw Failure("what process \(process) has used is unknown")
            }
            time += (user + system) * 1e9 / Double(sysconf(Int32(_SC_CLK_TCK)))
            memory += pages * Double(sysconf(Int32(_SC_PAGESIZE)))
        }
    }

    private static func text(_ file: String) throws -> String {
        guard let bytes = FileManager.default.contents(atPath: file) else { throw Failure("\(file) cannot be read; it needs Linux") }
        return String(decoding: bytes, as: UTF8.self)
    }
}
