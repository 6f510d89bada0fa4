import Foundation
import TestSupport
import Testing

/// A `prefs watch --json` of a file, and the number of lines it has printed.
final class WatchedCount {
    private let watch: RunningProgram
    private var last: Int
    private(set) var lineCount = 1

    /// Watches every key, and waits until the watch has started.
    init(_ path: String, count: Int = 0) async throws {
        last = count
        watch = try RunningProgram("prefs", ["watch", path, "--json", "--initial"])
        _ = try await watch.lines.elements { lines in
            lines.contains { $0.hasPrefix(#"{"key":"count","#) } && lines.last?.hasPrefix(#"{"key":"filler999","#) == true
        }
        lineCount = watch.lines.elements.count
    }

    /// Waits for the line of a number that another process has set, which must be the only one.
    func expect(_ count: Int) async throws {
        let change = try PrintedChange(await watch.lines(count: lineCount + 1)[lineCount])
        #expect(change.key == "count" && change.kind == "set" && change.origin == "external")
        #expect(change.old == last)
        #expect(change.new == count)
        last = count
        lineCount += 1
    }

    /// Waits for the lines of every entry, removed or set again.
    func expectAll(_ kind: String, count: Int) async throws {
        let lines = try await watch.lines(count: lineCount + 2001)[lineCount...].prefix(2001)
        #expect(lines.allSatisfy { $0.contains("\"kind\":\"\(kind)\"") })
        #expect(Set(try lines.map { try JSONDecoder().decode(Name.self, from: Data($0.utf8)).key }).count == 2001)
        lineCount += 2001
        last = count
    }

    private struct Name: Decodable {
        let key: String
    }

    /// Ends the watch, which must have printed nothing else.
    ///
    /// - Parameter isWrittenInPlace: whether it may have reported an incomplete file, which a writer leaves for long on a busy machine.
    func end(isWrittenInPlace: Bool = false) async throws {
        watch.signal(SIGTERM)
        #expect(try await watch.status == 0)
        #expect(watch.lines.elements.count == lineCount)
        #expect(watch.errors.elements.allSatisfy { isWrittenInPlace && $0.contains(": not a readable property list") })
    }
}
