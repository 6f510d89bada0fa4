import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("AtomicFile", .timeLimit(.minutes(1))) struct AtomicFileTests {
    let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("What was written is read back, with the identity that writing returned")
    func roundTrip() throws {
        let path = folder.path("a.plist")
        for bytes in [Data(), Data("one".utf8), Data(repeating: 7, count: 1_000_000)] {
            let identity = try AtomicFile.write(bytes, to: path)
            let content = try #require(try AtomicFile.read(path: path))
            #expect(content.bytes == bytes)
            #expect(content.identity == identity)
            #expect(try FileIdentity(path: path) == identity)
        }
        try FileLock.withLock(for: path, timeout: .seconds(1)) {
            AtomicFile.removeLeftovers(of: path)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted() == [".a.plist.lock", "a.plist"])
    }

    @Test("Where there is no file, nothing is read")
    func missing() throws {
        #expect(try AtomicFile.read(path: folder.path("none")) == nil)
        #expect(try AtomicFile.read(path: folder.path("none/none")) == nil)
        #expect(try FileIdentity(path: folder.path("none")) == nil)
    }
}
