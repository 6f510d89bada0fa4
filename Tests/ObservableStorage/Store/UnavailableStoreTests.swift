import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("A store that could not be opened", .timeLimit(.minutes(5)))
struct UnavailableStoreTests {
    @Test("Values live in memory, and flushing throws the reason")
    func unavailable() async throws {
        let reason = StorageError.malformed(file: "settings.plist", offset: 3, reason: "bad")
        let store = ObservableStore(backend: UnavailableBackend(name: "settings.plist", reason: reason), entries: StorageEntries())
        store[Keys.count] = 5
        #expect(store[Keys.count] == 5)
        await #expect(throws: reason) { try await store.flush() }
        #expect(await store.failures.first { _ in true } == reason)
    }

    @Test("A suite is the file of that name in the configuration folder", arguments: [true, false])
    func suite(isReadable: Bool) async throws {
        let folder = try TemporaryFolder()
        if !isReadable { try Data("bad".utf8).write(to: folder.file("app.example.plist")) }
        let peer = try await Subprocess.finished("Peer", ["suite", "app.example"], environment: ["XDG_CONFIG_HOME": folder.url.path])
        #expect(peer.status == 0)
        #expect(peer.text == (isReadable ? "stored\n" : "refused\n"))
        if isReadable { #expect(try ObservableStore(at: folder.file("app.example.plist"))[Keys.count] == 5) }
    }
}
