import Foundation
import ObservableStorage
import TestSupport
import Testing

@Suite("Getting started", .timeLimit(.minutes(10)))
struct GettingStartedTests {
    private let folder: TemporaryFolder
    private let store: ObservableStore
    private let printed = Recorder<String>()

    init() throws {
        folder = try TemporaryFolder()
        store = try ObservableStore(at: folder.file("Player.plist"))
    }

    private nonisolated func print(_ line: String) {
        printed.record(line)
    }

    @Test("The program prints the values, and those that another process writes")
    func program() async throws {
        let program = Task {
            await ObservableStore.withStandard(store) {
                // snippet: GettingStarted
                struct PlayerKeys: KeyGroup {
                    let volume = StorageKey("volume", default: 0.8)
                    let title = StorageKey<String?>("title")
                }

                let player = KeyedStore<PlayerKeys>(.standard)
                for await (volume, title) in player.values(of: \.volume, \.title) {
                    print("\(title ?? "nothing") at \(Int(volume * 100)) %")
                }
                // end
            }
        }
        #expect(try await printed.elements(count: 1) == ["nothing at 80 %"])
        let other = try ObservableStore(at: folder.file("Player.plist"))
        try await other.update { $0[StorageKey<String?>("title")] = "So What" }
        #expect(try await printed.elements(count: 2).last == "So What at 80 %")
        try await other.update { $0[StorageKey("volume", default: 0.8)] = 0.3 }
        #expect(try await printed.elements(count: 3).last == "So What at 30 %")
        try await store.close()
        await program.value
    }

    struct PlayerKeys: KeyGroup {
        let volume = StorageKey("volume", default: 0.8)
        let title = StorageKey<String?>("title")
    }

    @Test("Values are set at once, several as one, and are on disk after a flush")
    func writing() async throws {
        let player = KeyedStore<PlayerKeys>(store)
        // snippet: GettingStarted
        player.volume = 0.5
        player.edit {
            $0.title = "Blue in Green"
            $0.volume = 0.4
        }
        try await player.store.flush()
        // end
        #expect(store.snapshot.revision == 2)
        let other = try ObservableStore(at: folder.file("Player.plist"))
        #expect(other.snapshot.entries == ["volume": 0.4, "title": "Blue in Green"])
        try await store.close()
    }

    @Test("A handle sets, removes and observes its key")
    func handle() throws {
        let player = KeyedStore<PlayerKeys>(store)
        // snippet: GettingStarted
        let title = player.stored(\.title)
        let token = title.addUpdateListener { change in
            print("\(change.newValue ?? "nothing") after \(change.oldValue ?? "nothing")")
        }
        try title.set("All Blues")
        title.remove()
        // end
        #expect(printed.elements == ["All Blues after nothing", "nothing after All Blues"])
        token.cancel()
    }

    @Test("A store at a URL has the format of its configuration, and moves a file aside that is no property list")
    func configuration() async throws {
        let url = folder.file("Playlist.plist")
        try Data("no list".utf8).write(to: url)
        // snippet: GettingStarted
        var configuration = PropertyListFile.Configuration()
        configuration.format = .xml
        configuration.onCorruption = .quarantine
        let playlist = try ObservableStore(at: url, configuration: configuration)
        // end
        try playlist.set("So What", for: StorageKey<String?>("title"))
        try await playlist.close()
        #expect(try String(contentsOf: url, encoding: .utf8).contains("<string>So What</string>"))
        try await store.close()
    }
}
