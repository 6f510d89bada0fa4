import Foundation
import TestSupport
import Testing

/// The list of `KeyGroup`: names of keys that are no properties of a `KeyedStore` and the like, because of a member of the same name.
@Suite("Names that keys cannot have", .timeLimit(.minutes(10)))
struct ReservedNamesTests {
    private static let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Sources/ObservableStorage")

    private static func text(of path: String) throws -> String {
        try String(contentsOf: sources.appending(path: path), encoding: .utf8)
    }

    /// The names that the documentation of `KeyGroup` lists, by type.
    private static func documented() throws -> [String: [String]] {
        let comment = try text(of: "Access/KeyGroup.swift").split(separator: "\npublic protocol KeyGroup")[0]
            .split(separator: "\n").map { $0.dropFirst(4) }.joined(separator: "\n")
        let items = comment.components(separatedBy: "\n- ``").dropFirst().map { $0.components(separatedBy: "\n\n")[0] }
        return items.reduce(into: [:]) { lists, item in
            let quoted = item.split(separator: "`", omittingEmptySubsequences: false).map(String.init)
            // Behind the name of the type, every second part is between backticks.
            lists[quoted[0]] = quoted.dropFirst(3).enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
        }
    }

    /// The public members of a type, in its declaration and its extensions in all files.
    private static func members(of type: String, in text: String) -> Set<String> {
        var indentation: Substring?
        return text.split(separator: "\n").reduce(into: []) { names, line in
            let spaces = line.prefix { $0 == " " }
            let words = line.dropFirst(spaces.count).split { !$0.isLetter && !$0.isNumber && $0 != "_" && $0 != "@" }
            if let outer = indentation {
                if spaces == outer, line.hasSuffix("}") { indentation = nil }
                guard spaces.count == outer.count + 4, let kind = words.firstIndex(where: { ["var", "let", "func"].contains($0) }),
                    words[..<kind].contains("public"), !words[..<kind].contains("static")
                else { return }
                names.insert(String(words[kind + 1]))
            } else if let kind = words.firstIndex(where: { ["struct", "class", "extension"].contains($0) }), words.count > kind + 1 {
                if words[kind + 1] == type, line.hasSuffix("{") { indentation = spaces }
            }
        }
    }

    @Test("The list has the members that the types have")
    func members() throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: Self.sources.path).filter { $0.hasSuffix(".swift") }
        let text = try paths.map(Self.text).joined(separator: "\n")
        let documented = try Self.documented()
        #expect(documented.keys.sorted() == ["KeyedSnapshot", "KeyedStore", "KeyedTransaction", "ObservableValues"])
        for (type, names) in documented { #expect(names == Self.members(of: type, in: text).sorted(), "\(type)") }
    }

    @Test("Members are found in a type and its extensions, and those that are not public, or are static, are not")
    func parsing() {
        let text = """
            public struct Store<Keys: Group>: Sendable {
                public let store: Int
                let table: Int
                @usableFromInline func key() {
                    public var inner: Int
                }
                public static let shared = 1
                public init() {}
            }
            struct StoreOther {
                public var other: Int
            }
                extension Store {
                    @discardableResult
                    public func edit<Result>() -> Result { }
                    @MainActor public var all: [Int] { [] }
                }
            """
        #expect(Self.members(of: "Store", in: text) == ["store", "edit", "all"])
    }

    @Test("A key with a name of the list does not compile as a property of a store, and any other name does")
    func compiled() async throws {
        let reserved = try Set(#require(try Self.documented()["KeyedStore"])).sorted()
        let free = ["key", "keys", "read", "scoped", "table", "host", "all", "publisher", "set"]
        let declarations = (reserved + free).map { "let \($0) = StorageKey(\"\($0)\", default: 1)" }
        let uses = (reserved + free).map { "func use_\($0)(_ settings: KeyedStore<AllKeys>) { settings.\($0) += 1 }" }
        let program = """
            import ObservableStorage
            struct AllKeys: KeyGroup {
            \(declarations.joined(separator: "\n"))
            }
            \(uses.joined(separator: "\n"))
            """
        let folder = try TemporaryFolder()
        let file = folder.file("Program.swift")
        try Data(program.utf8).write(to: file)
        let modules = Subprocess.executable("Modules").path
        let compiled = try await Subprocess.finished("swiftc", ["-typecheck", "-swift-version", "6", "-I", modules, file.path])
        let lines = program.components(separatedBy: "\n")
        let failed = Set(
            compiled.errors.split(separator: "\n").filter { $0.hasPrefix(file.path) && $0.contains(" error: ") }
                .compactMap { $0.dropFirst(file.path.count + 1).prefix { $0 != ":" } }.compactMap { Int($0) })
        let names = failed.map { lines[$0 - 1] }.map { $0.split(separator: "settings.").last?.prefix { $0 != " " } ?? "" }
        #expect(names.sorted() == reserved.map { Substring($0) }, "\(compiled.errors)")
    }
}
