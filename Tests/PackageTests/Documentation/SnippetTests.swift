import Foundation
import Testing

/// The Swift code of the articles is code of the tests in this folder, and of those of stores on etcd, between `// snippet: ` with the
/// article's name, and `// end`; or of the files that `Tests/AppleStandIns/check` compiles. Code of another library, after a line
/// `<!-- another library -->`, is not: it needs that library.
@Suite("Code in the articles", .timeLimit(.minutes(10)))
struct SnippetTests {
    private static let source = URL(filePath: #filePath).deletingLastPathComponent()
    private static let package = source.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let articles = files(below: package.appending(path: "Sources"), "md")
    private static let tests =
        files(below: source, "swift").filter { $0.lastPathComponent != "SnippetTests.swift" }
        + files(below: package.appending(path: "Tests/EtcdStorageTests/Backend"), "swift")
    private static let uses = files(below: package.appending(path: "Tests/AppleStandIns/Uses"), "swift")

    @Test("Every block of an article is a snippet of a test", arguments: articles)
    func tested(article: URL) throws {
        let name = article.deletingPathExtension().lastPathComponent
        let snippets = try Self.snippets().filter { $0.article == name }.map(\.code)
        for block in Self.blocks(of: try String(contentsOf: article, encoding: .utf8)) {
            #expect(snippets.contains(block), "\(name): not in a test, or different there:\n\(block)")
        }
    }

    @Test("Every snippet is a block of its article")
    func used() throws {
        let blocks = try Self.articles.reduce(into: [String: [String]]()) { blocks, article in
            let text = try String(contentsOf: article, encoding: .utf8)
            blocks[article.deletingPathExtension().lastPathComponent, default: []] += Self.blocks(of: text)
        }
        let snippets = try Self.snippets()
        try #require(snippets.count > 10)
        for (article, code) in snippets {
            #expect(blocks[article]?.contains(code) == true, "not in \(article).md:\n\(code)")
        }
    }

    @Test("Blocks and snippets are compared without imports and without their common indentation")
    func normalization() {
        let block = "text\n```swift\nimport ObservableStorage\n\nlet a = [\n    1\n]\n```\n```sh\nls\n```\n"
        #expect(Self.blocks(of: block) == ["let a = [\n    1\n]"])
        #expect(Self.blocks(of: "text\n<!-- another library -->\n```swift\nlet b = 1\n```\n" + block) == ["let a = [\n    1\n]"])
        let test = "{\n        // snippet: Page\n        let a = [\n            1\n        ]\n        // end\n}"
        #expect(Self.snippets(of: test).map(\.code) == ["let a = [\n    1\n]"])
        #expect(Self.snippets(of: test).map(\.article) == ["Page"])
    }

    private static func files(below folder: URL, _ suffix: String) -> [URL] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return files.filter { $0.pathExtension == suffix }.sorted { $0.path < $1.path }
    }

    private static func blocks(of article: String) -> [String] {
        let parts = article.components(separatedBy: "```swift\n")
        return zip(parts, parts.dropFirst()).compactMap { before, part in
            before.hasSuffix("<!-- another library -->\n") ? nil : normalized(part.components(separatedBy: "```")[0])
        }
    }

    private static func snippets() throws -> [(article: String, code: String)] {
        try (tests + uses).flatMap { snippets(of: try String(contentsOf: $0, encoding: .utf8)) }
    }

    private static func snippets(of test: String) -> [(article: String, code: String)] {
        test.components(separatedBy: "// snippet: ").dropFirst().map { part in
            let article = String(part.prefix { !$0.isNewline })
            return (article, normalized(part.dropFirst(article.count).components(separatedBy: "// end")[0]))
        }
    }

    /// The lines without imports, with the indentation of the first one removed from all.
    private static func normalized(_ code: String) -> String {
        let lines = code.components(separatedBy: "\n").filter { !$0.hasPrefix("import ") }
        let indentation = lines.first { !$0.allSatisfy(\.isWhitespace) }?.prefix { $0 == " " } ?? ""
        return lines.map { $0.hasPrefix(indentation) ? String($0.dropFirst(indentation.count)) : $0 }.joined(separator: "\n")
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
