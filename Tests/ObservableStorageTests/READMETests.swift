import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

extension StorageKey<Double> {
    static let fontSize = StorageKey("fontSize", default: 13)
}

/// The README's snippets, verbatim, with tests of what the README states.
@Suite("The README", .timeLimit(.minutes(5)))
struct READMETests {
    enum Theme: String, Storable { case light, dark }

    struct EditorKeys: KeyGroup {
        let theme = StorageKey("theme", default: Theme.light)
        let lastOpened = StorageKey<Date?>("lastOpened")  // nil while nothing is stored; setting nil removes it
        let debug = DebugKeys()
    }

    struct DebugKeys: KeyGroup {
        let prefix: String? = "debug"
        let showConsole = StorageKey("showConsole", default: false)
    }

    static let store = ObservableStore(backend: InMemoryBackend(), entries: StorageEntries())

    final class Player {
        @Persisted(.fontSize, in: store) var fontSize
        @Persisted("title", in: store) var title: String?
    }

    private let folder: TemporaryFolder
    private let url: URL
    private let printed = Recorder<String>()

    init() throws {
        folder = try TemporaryFolder()
        url = folder.file("settings.plist")
    }

    /// Replaces the standard library's function, so that the snippets' output can be awaited.
    private func print(_ line: String) {
        printed.record(line)
    }

    @Test("The opening example prints the count")
    func opening() async throws {
        let example = Task {
            struct AppKeys: KeyGroup {
                let launchCount = StorageKey("launchCount", default: 0)
            }

            let settings = KeyedStore<AppKeys>(try ObservableStore(at: url))
            settings.launchCount += 1
            for await count in settings.values(of: \.launchCount) {
                print("launched \(count) times")
            }
            try await settings.store.flush()
        }
        #expect(try await printed.elements(count: 1) == ["launched 1 times"])
        example.cancel()
        try await example.value
    }

    @Test("What is set is on disk after a flush")
    func flush() async throws {
        let store = try ObservableStore(at: url)  // throws if the file is not a property list
        let editor = KeyedStore<EditorKeys>(store)  // typed access through a group of keys

        editor.theme = .dark  // visible immediately, written soon after
        editor.debug.showConsole = true
        store[.fontSize] = 15
        try await store.flush()  // returns when every edit is on disk

        let other = try ObservableStore(at: url)
        #expect(other.entries == ["theme": "dark", "debug/showConsole": true, "fontSize": 15.0])
    }

    @Test("A codec stores a structure")
    func codec() async throws {
        struct Account: Codable {
            var name: String
        }

        let account = StorageKey<Account?>("account", codec: .propertyList)

        let store = try ObservableStore(at: url)
        store[account] = Account(name: "Jo")
        #expect(store.entries == ["account": ["name": "Jo"]])
        #expect(store[account]?.name == "Jo")
        try await store.flush()
    }

    @Test("A key reads what earlier versions stored")
    func migration() async throws {
        let interval = StorageKey("interval", default: 60)
            .migrating(from: Double.self) { Int($0) }
            .renamed(from: "period")

        let store = try ObservableStore(at: url)
        store[StorageKey("period", default: 0.0)] = 90.5
        #expect(store[interval] == 90)
        #expect(store.entries == ["interval": 90])
        try await store.flush()
    }

    @Test("A property is a stored value")
    func wrapper() throws {
        let player = Player()
        player.fontSize = 15
        player.title = "One"
        #expect(player.$fontSize.isSet)
        #expect(Self.store.entries == ["fontSize": 15.0, "title": "One"])
    }

    final class Editor: SceneStoring {
        let sceneID = "main"
        @SceneStored("zoom") var zoom = 1.0
    }

    @Test("A scene has values of its own")
    func scene() async throws {
        let store = try ObservableStore(at: url)
        let scene = SceneStore(sceneID: "main", base: store, writesThrough: true)
        scene[.fontSize] = 15
        #expect(store.entries == ["fontSize": 15.0, "scenes/main/fontSize": 15.0])
        #expect(Editor().sceneStore.sceneID == "main")
        try await store.flush()
    }

    @Test("A transaction is on disk when it returns")
    func transaction() async throws {
        struct AppKeys: KeyGroup {
            let launchCount = StorageKey("launchCount", default: 0)
        }
        let settings = KeyedStore<AppKeys>(try ObservableStore(at: url))
        try await settings.update { $0.launchCount += 1 }
        #expect(try ObservableStore(at: url).entries == ["launchCount": 1])
    }

    @Test("values(of:) begins with the current value, and ends with its store")
    func values() async throws {
        let store = try ObservableStore(at: url)
        let editor = KeyedStore<EditorKeys>(store)
        let reader = Task {
            for await theme in editor.values(of: \.theme) {
                print("the theme is \(theme)")
            }
        }
        #expect(try await printed.elements(count: 1) == ["the theme is light"])
        editor.theme = .dark
        #expect(try await printed.elements(count: 2).last == "the theme is dark")
        try await store.close()
        await reader.value
    }

    @Test("changes(of:) gives every change")
    func changes() async throws {
        let store = try ObservableStore(at: url)
        let editor = KeyedStore<EditorKeys>(store)
        let reader = Task {
            let changes = editor.changes(of: \.theme)  // every change from now on
            editor.theme = .dark
            for await change in changes {
                print("\(change.oldValue) -> \(change.newValue), \(change.origin)")  // light -> dark, local
            }
        }
        #expect(try await printed.elements(count: 1) == ["light -> dark, local"])
        try await store.close()
        await reader.value
    }

    @Test("A listener with its initial value is called at once, and at each change")
    func listener() async throws {
        let store = try ObservableStore(at: url)
        let token = store.addUpdateListener(for: .fontSize, initial: true) { change in
            print("the font size is \(change.newValue)")
        }
        store[.fontSize] = 15
        #expect(try await printed.elements(count: 2) == ["the font size is 13.0", "the font size is 15.0"])
        token.cancel()
        store[.fontSize] = 16
        #expect(printed.elements.count == 2)
        try await store.close()
    }

    @Test("Every Swift snippet of the README is in this file")
    func snippets() throws {
        let source = URL(filePath: #filePath)
        let package = source.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let readme = try String(contentsOf: package.appending(path: "README.md"), encoding: .utf8)
        let tests = Self.normalized(try String(contentsOf: source, encoding: .utf8))
        let snippets = readme.components(separatedBy: "```swift\n").dropFirst().compactMap { $0.components(separatedBy: "\n```").first }
        try #require(!snippets.isEmpty)
        for snippet in snippets {
            #expect(tests.contains(Self.normalized(snippet)), "\(snippet)")
        }
    }

    @Test("Every test that the documentation names exists")
    func namedTests() throws {
        let source = URL(filePath: #filePath)
        let package = source.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let documentation = package.appending(path: "Sources/ObservableStorage/Documentation.docc")
        let tests = try Self.tests(below: package.appending(path: "Tests"))
        for page in ["OtherLibraries.md"] {
            let rows = try String(contentsOf: documentation.appending(path: page), encoding: .utf8)
                .components(separatedBy: "\n").filter { $0.hasPrefix("| ") && $0 != "| there | here | test |" }
            try #require(rows.count > 10)
            for row in rows {
                let name = row.dropLast(2).components(separatedBy: " | ").last ?? ""
                #expect(tests.contains(name), "\(row)")
            }
        }
    }

    /// The names of all tests in the files below a folder.
    private static func tests(below folder: URL) throws -> Set<String> {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return try files.filter { $0.pathExtension == "swift" }.reduce(into: []) { names, file in
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /@Test\(\s*"([^"]+)"/) { names.insert(String(match.1)) }
        }
    }

    /// Words separated by one space, without imports, which are at the top of the file.
    private static func normalized(_ source: String) -> String {
        source.components(separatedBy: "\n").filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
