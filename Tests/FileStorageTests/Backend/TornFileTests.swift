import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// The remains of a file after a machine stopped while another program was writing.
@Suite("Torn files", .timeLimit(.minutes(10)), .namingSeed)
struct TornFileTests {
    /// Two states of one file, of some blocks each.
    struct States: Sendable, CustomTestStringConvertible {
        let format: PropertyListFormat
        let before: [String: PropertyListValue]
        let after: [String: PropertyListValue]

        var testDescription: String { "\(format)" }

        init(_ format: PropertyListFormat) {
            self.format = format
            let filler = (0..<60).map { number in ("filler\(number)", PropertyListValue.string(String(repeating: "t", count: number))) }
            before = Dictionary(uniqueKeysWithValues: filler)
                .merging(["count": 1, "list": [1, 2, 3], "real": 0.5, "data": Self.data(40, format)]) { $1 }
            after = before.merging(["count": 500, "list": ["a", "b"], "text": "new", "data": Self.data(70, format)]) { $1 }
        }

        private static func data(_ count: Int, _ format: PropertyListFormat) -> PropertyListValue {
            format == .json ? .string(String(repeating: "A", count: count)) : .data(Data(count: count))
        }

        func bytes(_ entries: [String: PropertyListValue]) throws -> Data {
            try PropertyListValue.dictionary(entries).encoded(as: format)
        }
    }

    private static let anyIdentity = FileIdentity(device: 1, inode: 1, size: 0, modified: 0, changed: 0)

    static let states = PropertyListFormat.allCases.map { States($0) }

    @Test("A file truncated anywhere is complete or an error with an offset", arguments: Self.states)
    func truncation(_ states: States) throws {
        let whole = try states.bytes(states.after)
        for length in visited(0..<whole.count) { try expectWholeOrError(whole.prefix(length), states) }
    }

    @Test("A file with zeros from any offset to its end is complete or an error with an offset", arguments: Self.states)
    func zeroTail(_ states: States) throws {
        let whole = try states.bytes(states.after)
        for length in visited(0..<whole.count) { try expectWholeOrError(whole.prefix(length) + Data(count: whole.count - length), states) }
        for length in [1, 100, 512, 4_096] { try expectWholeOrError(whole + Data(count: length), states) }
    }

    @Test("A binary file of old and new blocks is complete or an error with an offset", arguments: [512, 1_024])
    func mixture(block: Int) throws {
        // A property list has no checksum: if old and new blocks align byte for byte, as they may in XML, a mixture of them is a valid
        // file. This library never writes one, because it replaces files as a whole; see the next test.
        let states = Self.states[0]
        let (before, after) = (try states.bytes(states.before), try states.bytes(states.after))
        let size = max(before.count, after.count)
        let count = (size + block - 1) / block
        try #require(count > 2)
        for mixture in visited(0..<1 << count) {
            var mixed = Data()
            for index in 0..<count {
                let part = (mixture >> index & 1 == 0 ? before : after).dropFirst(index * block).prefix(block)
                mixed += part + Data(count: min(block, size - index * block) - part.count)
            }
            for length in [before.count, after.count] { try expectWholeOrError(mixed.prefix(length), states) }
        }
    }

    @Test("A store never writes into the blocks of the existing file", arguments: Self.states)
    func noMixture(_ states: States) async throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let before = try states.bytes(states.before)
        try before.write(to: file)
        let old = try FileHandle(forReadingFrom: file)
        let store = try ObservableStore(at: file)
        store[Keys.count] = 500
        try await store.flush()
        try await store.update { $0[Keys.text] = "new" }
        try await store.close()
        #expect(try old.readToEnd() == before)
        #expect(try ObservableStore(at: file)[Keys.text] == "new")
    }

    @Test("A store with a torn file does not open, and leaves the file unchanged", arguments: Self.states)
    func store(_ states: States) throws {
        let folder = try TemporaryFolder()
        let file = folder.file("settings.plist")
        let torn = try states.bytes(states.after).dropLast(200)
        try write(torn, to: file)
        #expect(throws: StorageError.self) { try ObservableStore(at: file) }
        #expect(try Data(contentsOf: file) == torn)
    }

    private func expectWholeOrError(_ bytes: Data, _ states: States) throws {
        do throws(StorageError) {
            let entries = try FileContent(bytes: Data(bytes), identity: Self.anyIdentity, file: "torn", lookedAt: Date()).entries.values
            #expect(entries == states.before || entries == states.after, "\(bytes.base64EncodedString())")
        } catch {
            guard case .malformed(file: "torn", let offset?, _, _, let reason, _) = error else {
                Issue.record("\(error) of \(bytes.base64EncodedString())")
                return
            }
            #expect(0...bytes.count ~= offset && !reason.isEmpty)
        }
    }

    /// Writes bytes with an old timestamp, so that reading does not wait for a slow writer.
    private func write(_ bytes: Data, to file: URL) throws {
        try bytes.write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSinceNow: -100)], ofItemAtPath: file.path)
    }
}
