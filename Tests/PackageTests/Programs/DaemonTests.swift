import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// A daemon whose configuration is replaced while it runs.
@Suite("A daemon", .timeLimit(.minutes(10)))
struct DaemonTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Replaces the configuration as Kubernetes does: a new folder, and a link to it that is renamed to `..data`.
    private func deploy(_ version: Int, _ content: Data) throws {
        let files = FileManager.default
        try files.createDirectory(at: folder.file("..\(version)"), withIntermediateDirectories: false)
        try content.write(to: folder.file("..\(version)/settings.plist"))
        try files.createSymbolicLink(atPath: folder.path("..data_tmp"), withDestinationPath: "..\(version)")
        #expect(rename(folder.path("..data_tmp"), folder.path("..data")) == 0)
        if version > 1 { try files.removeItem(at: folder.file("..\(version - 1)")) }
    }

    private func list(_ port: PropertyListValue, _ minimum: Int64, _ maximum: Int64) throws -> Data {
        try PropertyListValue.dictionary([
            "port": port, "minimumWorkers": .integer(PropertyListInteger(minimum)),
            "maximumWorkers": .integer(PropertyListInteger(maximum)),
        ]).encoded(as: .xml)
    }

    @Test("Each valid configuration takes effect as a whole, others are reported, and a signal stops it", arguments: [SIGTERM, SIGINT])
    func reload(signal: Int32) async throws {
        try deploy(1, list(80, 1, 2))
        try FileManager.default.createSymbolicLink(atPath: folder.path("settings.plist"), withDestinationPath: "..data/settings.plist")
        let daemon = try RunningProgram("Daemon", [folder.path("settings.plist"), folder.path("state.plist")])
        try await daemon.line { $0 == "in use: port 80, 1 to 2 workers" }
        try deploy(2, list(81, 3, 2))
        try await daemon.line { $0.hasPrefix("refused: ") && $0.contains("3 to 2 workers") }
        try deploy(3, list(100_000, 5, 6))
        try await daemon.line { $0.hasPrefix("refused: ") && $0.contains("the port 100000 is not in 1...65535") }
        try deploy(4, Data("<plist><dict><key>port</key>".utf8))
        try await daemon.line { $0.hasPrefix("refused: ") && $0.contains("not a readable property list (line 1, column ") }
        try deploy(5, list(82, 7, 8))
        try await daemon.line { $0 == "in use: port 82, 7 to 8 workers" }
        daemon.signal(signal)
        #expect(try await daemon.status == 0, "\(daemon.errors.elements)")
        let lines = daemon.lines.elements.filter { !$0.hasPrefix("refused: ") }
        #expect(lines == ["in use: port 80, 1 to 2 workers", "in use: port 82, 7 to 8 workers", "stopped"])
        #expect(try PropertyListValue.decode(Data(contentsOf: folder.file("state.plist"))).value == ["reloads": 2])
    }

    @Test("A value of another type is reported, and the last valid one stays in use with the other new values")
    func otherType() async throws {
        try deploy(1, list(80, 1, 2))
        try FileManager.default.createSymbolicLink(atPath: folder.path("settings.plist"), withDestinationPath: "..data/settings.plist")
        let daemon = try RunningProgram("Daemon", [folder.path("settings.plist"), folder.path("state.plist")])
        try await daemon.line { $0 == "in use: port 80, 1 to 2 workers" }
        try deploy(2, list("https", 3, 4))
        try await daemon.line { $0.hasPrefix("refused: key \"port\": expected Int, found string") }
        try await daemon.line { $0 == "in use: port 80, 3 to 4 workers" }
        try deploy(3, list(443, 3, 4))
        try await daemon.line { $0 == "in use: port 443, 3 to 4 workers" }
        let lines = daemon.lines.elements.filter { $0.hasPrefix("in use: ") }
        #expect(lines == ["80, 1 to 2", "80, 3 to 4", "443, 3 to 4"].map { "in use: port \($0) workers" })
    }

    @Test("It ends with its usage and 64 without its arguments")
    func usage() async throws {
        let ended = try await Subprocess.finished("Daemon")
        #expect(ended.status == 64 && ended.errors == "usage: Daemon CONFIGURATION STATE\n")
    }
}
