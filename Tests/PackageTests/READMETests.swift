import Foundation
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

@testable import ObservableStorage

extension StorageKey<Double> {
    static let fontSize = StorageKey("fontSize", default: 13)
}

/// The README's snippets, verbatim, with tests of what the README states.
@Suite("The README", .timeLimit(.minutes(10)))
struct READMETests {
    enum Theme: String, Storable { case light, dark }

    struct EditorKeys: KeyGroup {
        let theme = StorageKey("theme", default: Theme.light)
        let lastOpened = StorageKey<Date?>("lastOpened")  // nil while nothing is stored; setting nil removes it
        let debug = DebugKeys()
    }

    struct DebugKeys: KeyGroup {
        let prefix: String? = "debug"  // the name of its key is debug/showConsole
        let showConsole = StorageKey("showConsole", default: false)
    }

    static let store = ObservableStore(backend: InMemoryBackend(), entries: StorageEntries())

    final class Player {
        @Persisted(.fontSize, in: store) var fontSize
        @Persisted("title", in: store) var title: String?
    }

    final class Editor: SceneStoring {
        let sceneID: String? = "main"
        @SceneStored("zoom") var zoom = 1.0
    }

    final class Reader {
        @Persisted(.fontSize) var fontSize
    }

    private let folder: TemporaryFolder
    private let url: URL
    private let printed = Recorder<String>()

    init() throws {
        folder = try TemporaryFolder()
        url = folder.file("settings.plist")
    }

    /// Replaces the standard library's function, so that the snippets' output can be awaited.
    nonisolated private func print(_ line: String) {
        printed.record(line)
    }

    @Test("The opening example prints the count")
    func opening() async throws {
        let store = try ObservableStore(at: url)
        let example = Task {
            await ObservableStore.withStandard(store) {
                struct AppKeys: KeyGroup {
                    let launchCount = StorageKey("launchCount", default: 0)
                }

                let settings = KeyedStore<AppKeys>(.standard)
                settings.launchCount += 1
                for await count in settings.values(of: \.launchCount) {
                    print("launched \(count) times")
                }
            }
        }
        #expect(try await printed.elements(count: 1) == ["launched 1 times"])
        try await store.close()
        await example.value
    }

    @Test("What is set is on disk after a flush")
    func flush() async throws {
        let store = try ObservableStore.shared(at: url)  // one store for a file; throws if it is not a property list
        let editor = KeyedStore<EditorKeys>(store)  // typed access through a group of keys

        try store.register(14, for: .fontSize)  // the default of this process, not stored
        editor.theme = .dark  // visible immediately, written soon after
        editor.debug.showConsole = true
        store[.fontSize] = 15
        try await store.flush()  // returns when every edit is on disk

        let other = try ObservableStore(at: url)
        #expect(other.entries == ["theme": "dark", "debug/showConsole": true, "fontSize": 15.0])
        store.remove(.fontSize)
        #expect(store[.fontSize] == 14)
        try await store.flush()
    }

    @Test("A structure is stored as a native one, and values that are not valid are refused")
    func values() async throws {
        struct Account: CodableStorable {
            var name: String
        }

        let account = StorageKey<Account?>("account")  // a native structure, which `prefs` can display

        let port = StorageKey("port", default: 8080).validated(in: 1...65_535)
        let host = StorageKey("server", "host", default: "localhost")  // inside the dictionary "server"

        let store = try ObservableStore(at: url)
        store[account] = Account(name: "Jo")
        store[host] = "example.org"
        #expect(throws: StorageError.self) { try store.set(0, for: port) }
        #expect(store.entries == ["account": ["name": "Jo"], "server": ["host": "example.org"]])
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
        #expect(store.entries == ["period": 90.5])
        store[interval] = 100
        #expect(store.entries == ["interval": 100])
        let both = interval.renamed(from: "seconds", keepingOld: true)
        store[both] = 110
        #expect(store.entries == ["interval": 110, "seconds": 110])
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

    @Test("A scene has values of its own")
    func scene() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["zoom": 2.0]))
        ObservableStore.withStandard(store) {
            let editor = Editor()
            #expect(editor.zoom == 2)
            editor.zoom = 3
        }
        #expect(store.entries == ["zoom": 2.0, "scenes/main/zoom": 3.0])
    }

    @Test("Several keys are read, edited and observed as one")
    func several() async throws {
        let store = try ObservableStore(at: url)
        let editor = KeyedStore<EditorKeys>(store)
        editor.theme = .dark
        let reader = Task {
            let before = editor.snapshot  // before.theme and before.lastOpened, as they were together
            editor.edit {
                $0.theme = .light
                $0.lastOpened = .now
            }
            for await (theme, opened) in editor.values(of: \.theme, \.lastOpened) {
                print("\(theme), \(opened == nil)")
            }
            return (before.theme, before.lastOpened)
        }
        #expect(try await printed.elements(count: 1) == ["light, false"])
        #expect(store.revision == 2)
        try await store.close()
        #expect(await reader.value == (.dark, nil))
    }

    @Test("A store imports the values of user defaults")
    func userDefaults() async throws {
        let store = try ObservableStore(at: url)
        try await store.importEntries(from: UserDefaultsBackend(), once: "UserDefaults")
        let imported = try UserDefaultsBackend().load().values
        #expect(store.entries.filter { imported[$0.key] != nil } == imported)
        #expect(store.entries.count == (imported.isEmpty ? 0 : imported.count + 1))
        try await store.close()
    }

    @Test("A model that uses the standard store has a store of its own in a test")
    func model() throws {
        let store = try ObservableStore(backend: InMemoryBackend(["fontSize": 15.0]))
        ObservableStore.withStandard(store) {
            #expect(Reader().fontSize == 15)
        }
    }

    @Test("A transaction is on disk when it returns")
    func transaction() async throws {
        let editor = KeyedStore<EditorKeys>(try ObservableStore(at: url))
        try await editor.update { $0.theme = .dark }
        #expect(try ObservableStore(at: url).entries == ["theme": "dark"])
    }

    @Test("values(of:) begins with the current value, and ends with its store")
    func stream() async throws {
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

    @Test("A file of another program is only read, and a value that does not fit is a failure")
    func failures() async throws {
        try Data(#"{"port": "http"}"#.utf8).write(to: url)
        let reader = Task {
            let config = try ObservableStore(at: url, access: .readOnly)  // a file that others write: nothing is locked or written
            let port = config[StorageKey("port", default: 8080)]  // 8080, because a string is stored
            for await failure in config.failures {
                print("\(failure)")  // key "port": expected Int, found string; what is stored was left as it is
            }
            return port
        }
        #expect(
            try await printed.elements(count: 1)
                == [#"key "port": expected Int, found string; what is stored was left as it is"#])
        reader.cancel()
        #expect(try await reader.value == 8080)
        #expect(try FileManager.default.contentsOfDirectory(atPath: url.deletingLastPathComponent().path) == ["settings.plist"])
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
        let (store, cloud) = ("ObservableStorage/Documentation.docc", "CloudStorage/Documentation.docc")
        let tests = try Self.tests(below: package.appending(path: "Tests"))
        for page in ["\(store)/ApplePlatforms.md", "\(store)/OtherLibraries.md", "\(cloud)/CloudStorage.md"] {
            let rows = try String(contentsOf: package.appending(path: "Sources/\(page)"), encoding: .utf8)
                .components(separatedBy: "\n").filter { $0.hasPrefix("| ") && !$0.hasSuffix(" | test |") }
            try #require(rows.count > 10)
            for row in rows {
                let name = row.dropLast(2).components(separatedBy: " | ").last ?? ""
                #expect(tests.contains(name), "\(row)")
            }
        }
    }

    @Test("Every suite and function that the page Reliability names exists")
    func namedSuites() throws {
        let source = URL(filePath: #filePath)
        let package = source.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let page = package.appending(path: "Sources/ObservableStorage/Documentation.docc/Reliability.md")
        let files = try Self.texts(below: package.appending(path: "Tests"))
        let titles = Set(files.flatMap { $0.matches(of: /@Suite\(\s*"([^"]+)"/).map { String($0.1) } })
        let rows = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n").filter { $0.hasPrefix("| ") }
        let names = rows.flatMap { row in
            (row.dropLast(2).components(separatedBy: " | ").last ?? "").matches(of: /`([^`]+)`/).map { String($0.1) }
        }
        try #require(names.count > 100)
        for name in names {
            let parts = name.split(separator: ".")
            if let suite = parts.first, suite.hasSuffix("Tests") {
                let functions = parts.dropFirst().map { "func \($0)(" }
                let isNamed = files.contains { file in
                    ["struct", "class", "extension"].contains { file.contains("\($0) \(suite) ") } && functions.allSatisfy(file.contains)
                }
                #expect(isNamed, "\(name)")
            }
            if name.contains(" ") { #expect(titles.contains(name), "\(name)") }
        }
    }

    /// The texts of all Swift files below a folder.
    private static func texts(below folder: URL) throws -> [String] {
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)?.compactMap { $0 as? URL } ?? []
        return try files.filter { $0.pathExtension == "swift" }.map { try String(contentsOf: $0, encoding: .utf8) }
    }

    /// The names of all tests in the files below a folder.
    private static func tests(below folder: URL) throws -> Set<String> {
        Set(try texts(below: folder).flatMap { $0.matches(of: /@Test\(\s*"([^"]+)"/).map { String($0.1) } })
    }

    /// Words separated by one space, without imports, which are at the top of the file.
    private static func normalized(_ source: String) -> String {
        source.components(separatedBy: "\n").filter { !$0.hasPrefix("import ") }.joined(separator: "\n")
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
    }
}
