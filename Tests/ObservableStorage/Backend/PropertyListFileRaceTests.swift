import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// What others do to the file while the library waits: injected where it pauses.
@Suite("Property-list file in a race", .timeLimit(.minutes(5)))
struct PropertyListFileRaceTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ value: PropertyListValue, to name: String) throws {
        try value.encoded(as: .binary).write(to: folder.file(name))
    }

    /// The file, with something happening the first time it pauses.
    private func backend(
        onCorruption: CorruptionPolicy = .refuse, whilePausing action: @escaping @Sendable () throws -> Void
    ) -> PropertyListFile {
        var calls = FileSystemCalls.live
        let gate = Gate()
        let pause = calls.pause
        calls.pause = { duration in
            if !gate.isShut {
                gate.shut()
                do { try action() } catch { Issue.record(error) }
            }
            pause(duration)
        }
        return PropertyListFile(at: file, onCorruption: onCorruption, lockTimeout: .seconds(10), calls: calls)
    }

    @Test("A link that is turned while its lock is waited for is written through to its new target")
    func turnedLink() throws {
        let (folder, file) = (folder, file)
        try write(["who": "a"], to: "a.plist")
        try write(["who": "b"], to: "b.plist")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "a.plist")
        // Somebody holds the lock of the first target until the link has been turned.
        let held = DispatchSemaphore(value: 0)
        let turned = DispatchSemaphore(value: 0)
        let backend = backend {
            try FileManager.default.createSymbolicLink(atPath: folder.path("new"), withDestinationPath: "b.plist")
            #expect(rename(folder.path("new"), file.path) == 0)
            turned.signal()
        }
        Thread.detachNewThread {
            do {
                try FileLock.withLock(for: folder.path("a.plist"), timeout: .seconds(1)) {
                    held.signal()
                    turned.wait()
                }
            } catch {
                Issue.record(error)
            }
        }
        held.wait()
        _ = try backend.edit { $0["count"] = 7 }
        #expect(try ObservableStore(at: folder.file("a.plist")).entries == ["who": "a"])
        #expect(try ObservableStore(at: folder.file("b.plist")).entries == ["who": "b", "count": 7])
    }

    @Test("An edit waits for an editor that deletes the file and writes it again")
    func editDuringRecreation() throws {
        let (folder, file) = (folder, file)
        try write(["count": 1], to: "settings.plist")
        let backend = backend { try PropertyListValue.dictionary(["count": 2]).encoded(as: .binary).write(to: file) }
        #expect(try backend.load().values == ["count": 1])
        try FileManager.default.removeItem(at: file)
        #expect(try backend.edit { $0["text"] = "x" }.values == ["count": 2, "text": "x"])
        withExtendedLifetime(folder) {}
    }

    @Test("Reading waits for a writer that is in the middle of writing in place")
    func halfWritten() throws {
        let file = file
        try write(["count": 1], to: "settings.plist")
        let backend = backend { try PropertyListValue.dictionary(["count": 2]).encoded(as: .xml).write(to: file) }
        #expect(try backend.load().values == ["count": 1])
        try Data("<plist><dict>".utf8).write(to: file)
        #expect(try backend.load().values == ["count": 2])
    }

    @Test("An edit of a bad file that was never read moves it aside too")
    func editOfBadFile() throws {
        try Data("bad".utf8).write(to: file)
        let backend = PropertyListFile(at: file, onCorruption: .quarantine)
        #expect(try backend.edit { $0["count"] = 1 }.values == ["count": 1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains("corrupt") }.count == 1)
    }

    @Test("A bad file that was just moved aside is kept whatever the clock said earlier, and nothing of others is removed")
    func quarantineKeepsTheNewest() throws {
        let later = (1...4).map { "settings.plist.corrupt-29990101T00000\($0).000000Z" }
        for name in later { try Data("later".utf8).write(to: folder.file(name)) }
        let foreign = folder.file("settings.plist.corrupt-a-from-june")
        try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: file)
        #expect(try ObservableStore(at: file, onCorruption: .quarantine).entries.isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        let aside = left.filter { $0.contains(".corrupt-2") }
        #expect(aside.suffix(2) == later.suffix(2))
        #expect(aside.count == 3)
        #expect(String(decoding: try Data(contentsOf: folder.file(aside[0])), as: UTF8.self) == "precious")
        #expect(left.contains(foreign.lastPathComponent))
    }

    @Test("A shared store follows a link that is turned")
    func sharedStoreFollowsLinks() async throws {
        try write(["count": 1], to: "a.plist")
        try write(["count": 2], to: "b.plist")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "a.plist")
        let store = try ObservableStore.shared(at: file)
        try FileManager.default.createSymbolicLink(atPath: folder.path("new"), withDestinationPath: "b.plist")
        #expect(rename(folder.path("new"), file.path) == 0)
        for await count in store.values(of: Keys.count) where count == 2 { break }
    }

    @Test("A shared store that was closed is opened anew")
    func sharedStoreAfterClose() async throws {
        let first = try ObservableStore.shared(at: file)
        try await first.close()
        let second = try ObservableStore.shared(at: file)
        #expect(second !== first)
        try second.set(1, for: Keys.count)
        #expect(try ObservableStore.shared(at: file) === second)
    }
}
