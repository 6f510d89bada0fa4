import Foundation
import Testing

@Suite("Imports of Foundation", .timeLimit(.minutes(10)))
struct FoundationImportTests {
    private static let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Sources")

    @Test(
        "A target that the tool links imports all of Foundation only where there is no FoundationEssentials",
        arguments: ["FoundationSubset", "PropertyListCoding", "ObservableStorage", "EtcdStorage", "prefs"])
    func targets(_ target: String) throws {
        let folder = Self.sources.appendingPathComponent(target)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        #expect(!paths.isEmpty)
        for path in paths {
            let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
            for line in Self.linesOfImports(in: text) {
                Issue.record("\(target)/\(path):\(line) links all of Foundation into prefs on Linux: import FoundationSubset instead")
            }
        }
    }

    @Test(
        "Imports of all of Foundation are found, whatever their attributes and access level",
        arguments: [
            ("import Foundation", true), ("  public import Foundation", true), ("@_exported public import Foundation", true),
            ("@preconcurrency import Foundation // for dates", true), ("import struct Foundation.Date", true),
            ("internal import class Foundation.Bundle", true), ("import FoundationNetworking", true),
            ("import FoundationInternationalization", true), ("import FoundationEssentials", false), ("import FoundationSubset", false),
            ("// import Foundation", false), ("let text = \"import Foundation\"", false), ("import Dispatch", false),
        ])
    func imports(_ line: String, _ isFound: Bool) {
        #expect(Self.linesOfImports(in: "import Dispatch\n\(line)\n") == (isFound ? [2] : []))
    }

    @Test("Only the #else of canImport(FoundationEssentials) may import all of Foundation")
    func conditions() {
        let lines: (String) -> [Int] = { Self.linesOfImports(in: $0.split(separator: ";").joined(separator: "\n")) }
        let essentials = "#if canImport(FoundationEssentials)"
        #expect(lines("\(essentials);import FoundationEssentials;#else;import Foundation;#endif") == [])
        #expect(lines("\(essentials) && !canImport(Darwin);#else;#if os(macOS);import Foundation;#endif;#endif") == [])
        #expect(lines("\(essentials);import Foundation;#else;#endif") == [2])
        #expect(lines("\(essentials);#else;#endif;import Foundation") == [4])
        #expect(lines("\(essentials);#elseif os(Linux);import Foundation;#endif") == [3])
        #expect(lines("#if canImport(Glibc);#else;import Foundation;#endif") == [3])
        #expect(lines("\(essentials);#if os(Linux);#else;import Foundation;#endif;#else;import Foundation;#endif") == [4])
    }

    /// The numbers of the lines that import all of Foundation, or a part of it that links the rest, where there is FoundationEssentials.
    private static func linesOfImports(in text: String) -> [Int] {
        // For each enclosing #if, whether its condition is that there is FoundationEssentials, and whether the line is after the #else.
        var conditions: [(isEssentials: Bool, isElse: Bool)] = []
        var found: [Int] = []
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let line = line.drop { $0 == " " }
            if line.hasPrefix("#if ") {
                conditions.append((line.hasPrefix("#if canImport(FoundationEssentials)"), false))
            } else if line.hasPrefix("#else"), !line.hasPrefix("#elseif"), let last = conditions.indices.last {
                conditions[last].isElse = true
            } else if line.hasPrefix("#endif") {
                _ = conditions.popLast()
            } else if isImport(line), !conditions.contains(where: { $0.isEssentials && $0.isElse }) {
                found.append(index + 1)
            }
        }
        return found
    }

    private static func isImport(_ line: Substring) -> Bool {
        let words = line.split { $0 == " " || $0 == "." }
        guard let word = words.firstIndex(of: "import") else { return false }
        let prefixes: Set<Substring> = ["public", "package", "internal", "private", "fileprivate"]
        guard words[..<word].allSatisfy({ prefixes.contains($0) || $0.hasPrefix("@") }) else { return false }
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "typealias", "func", "var", "let"]
        let module = words[(word + 1)...].first { !kinds.contains($0) } ?? ""
        return module.hasPrefix("Foundation") && !["FoundationEssentials", "FoundationSubset"].contains(module)
    }
}
