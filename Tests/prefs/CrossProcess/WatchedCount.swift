import Foundation
import TestSupport
import Testing

/// A `prefs watch --json` of a file, and what it must have printed so far.
final class WatchedCount {
    private let watch: RunningProgram
    private var seen: Int
    private(set) var lineCount = 1

    /// Watches every key, and waits until the watch is up.
    init(_ path: String, count: Int = 0) async throws {
        seen = count
        watch = try RunningProgram("prefs", ["watch", path, "--json", "--initial"])
        _ = try await watch.lines.elements { lines in
            lines.contains { $0.hasPrefix(#"{"key":"count","#) } && lines.last?.hasPrefix(#"{"key":"filler999","#) == true
        }
        lineCount = watch.lines.elements.count
    }

    /// Waits for the one line that tells a number set by another process.
    func expect(_ count: Int) async throws {
        let change = try SeenChange(await watch.lines(count: lineCount + 1)[lineCount])
        #expect(change.key == "count" && change.kind == "set" && change.origin == "external")
        #expect(change.old == seen)
        #expect(change.new == count)
        seen = count
        lineCount += 1
    }

    /// Waits for the lines that tell that every entry is gone, or is there again.
    func expectAll(_ kind: String, count: Int) async throws {
        let lines = try await watch.lines(count: lineCount + 2001)[lineCount...].prefix(2001)
        #expect(lines.allSatisfy { $0.contains("\"kind\":\"\(kind)\"") })
        #expect(Set(try lines.map { try JSONDecoder().decode(Name.self, from: Data($0.utf8)).key }).count == 2001)
        lineCount += 2001
        seen = count
    }

    private struct Name: Decodable {
        let key: String
    }

    /// Ends the watch, which must have said nothing else.
    func end() async throws {
        watch.signal(SIGTERM)
        #expect(try await watch.status == 0)
        #expect(watch.lines.elements.count == lineCount)
        #expect(watch.errors.elements.isEmpty)
    }
}
