import Foundation
import Testing

@Suite("Source folders", .timeLimit(.minutes(10)))
struct ArchitectureTests {
    private static let package = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    private static let sources = package.appendingPathComponent("Sources/ObservableStorage")
    private static let page = package.appendingPathComponent(".github/CONTRIBUTING.md")

    @Test("Each folder uses only types of the folders before it")
    func order() throws {
        for violation in try SourceFolders(at: Self.sources).violations { Issue.record("\(violation)") }
    }

    @Test("Only Lock uses a Mutex, which the thread sanitizer does not see on Linux")
    func locks() throws {
        let folder = Self.package.appendingPathComponent("Sources")
        let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".swift") }
        let users = try paths.filter { path in
            let text = try String(contentsOf: folder.appendingPathComponent(path), encoding: .utf8)
            return text.contains("Mutex<") || text.contains("Mutex(")
        }
        #expect(users == ["ObservableStorage/Concurrency/Lock.swift"])
    }

    /// Set `UPDATE_FOLDER_MAP` to write the map instead of comparing it.
    @Test("The dependency map in CONTRIBUTING.md is up to date")
    func map() throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- The map of the folders -->\n```text\n"))
        let end = try #require(text.range(of: "```\n", range: begin.upperBound..<text.endIndex))
        let map = try SourceFolders(at: Self.sources).map
        if ProcessInfo.processInfo.environment["UPDATE_FOLDER_MAP"] != nil {
            let updated = text.replacingCharacters(in: begin.upperBound..<end.lowerBound, with: map)
            try updated.write(to: Self.page, atomically: true, encoding: .utf8)
        } else {
            #expect(
                text[begin.upperBound..<end.lowerBound] == map,
                "UPDATE_FOLDER_MAP=1 swift test --filter ArchitectureTests writes the map")
        }
    }
}

@Suite("Checking source folders", .timeLimit(.minutes(10)))
struct SourceFoldersTests {
    private func folders(_ files: [String: String]) -> SourceFolders {
        SourceFolders(files: files, order: ["Base", "Middle", "Top"])
    }

    @Test("A use of a type of a later folder is reported with the file, the type and both folders")
    func backward() {
        let folders = folders([
            "Base/Lock.swift": "struct Lock { let owner: Store? }",
            "Middle/Journal.swift": "package final class Journal { var lock = Lock() }",
            "Top/Sub/Store.swift": "public actor Store { let journal: Journal }",
        ])
        #expect(folders.violations == ["Base/Lock.swift uses Store: Base/ comes before Top/, which declares it"])
        #expect(folders.map == "Base   -> Top\nMiddle -> Base\nTop    -> Middle\n")
    }

    @Test("Uses of earlier folders and of the same folder are allowed, and folders of the order can be missing")
    func forward() {
        let folders = folders(["Base/A.swift": "struct A { var b: B }\nstruct B {}", "Top/C.swift": "extension A { enum C {} }"])
        #expect(folders.violations.isEmpty)
        #expect(folders.map == "Base\nTop  -> Base\n")
    }

    @Test("A folder that is not in the order is reported, and so is a file outside all folders")
    func unknown() {
        let folders = folders(["Base/A.swift": "struct A {}", "Utilities/B.swift": "struct B {}", "C.swift": "struct C {}"])
        #expect(folders.violations == ["a file is in no folder", "Utilities/ is not in the order of the folders"])
    }

    @Test(
        "Comments and string literals are skipped, interpolations are not",
        arguments: [
            ("// Store", false), ("/* a /* Store */ Store */", false), ("let a = \"Store\"", false), ("let a = \"\\\"Store\"", false),
            ("let a = \"\"\"\n  \"Store\" Store\n  \"\"\"", false), ("let a = #\"\"Store\\(Store)\"#", false),
            ("let a = \"\\(f(\"(\", x)) Store\"", false), ("let aStore = Stores()", false),
            ("let a = \"\\(Store(\"(\").name)\"", true), ("let a = #\"\\#(Store.name)\"#", true), ("let a = \"//\" + Store.name", true),
            ("let a = b /* */ as Store", true), ("let a: [Store?]", true),
        ])
    func lexing(_ text: String, _ isUse: Bool) {
        #expect(folders(["Base/A.swift": text, "Top/Store.swift": "class Store {}"]).violations.isEmpty != isUse)
    }

    @Test("Of types with the same name, those of the file and its folder take precedence, then the earliest")
    func sameNames() {
        let isAllowed: ([String: String]) -> Bool = { files in
            folders(files.merging(["Top/T.swift": "struct T { enum Kind {} }"]) { $1 }).violations.isEmpty
        }
        #expect(!isAllowed(["Base/A.swift": "let a: Kind"]))
        #expect(isAllowed(["Base/A.swift": "let a: Kind", "Base/B.swift": "enum Kind {}"]))
        #expect(isAllowed(["Base/A.swift": "let a: Kind\nprivate indirect enum Kind {}"]))
        #expect(!isAllowed(["Base/A.swift": "let a: Kind", "Base/B.swift": "private enum Kind {}"]))
        #expect(isAllowed(["Middle/A.swift": "let a: Kind", "Base/B.swift": "enum Kind {}"]))
    }

    @Test("All kinds of types are found, whatever their modifiers, and `class func` is not one")
    func declarations() {
        let text = """
            struct A {}; public final class B { class func c() {} }; package indirect enum D {}
            actor E {}; protocol F {}; typealias G = Int; fileprivate final class H {}
            """
        let declared = SwiftWords.declaredTypes(SwiftWords.words(of: text))
        #expect(declared.filter { !$0.value }.keys.sorted() == ["A", "B", "D", "E", "F", "G"])
        #expect(declared["H"] == true)
    }
}
