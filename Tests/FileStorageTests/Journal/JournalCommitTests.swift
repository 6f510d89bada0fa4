import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Commits of a journal as they are read")
struct JournalCommitTests {
    private static let edits: [String: StorageCommit.Edit] = [
        "text": StorageCommit.Edit(from: "a", to: "ünï\u{1F600}"),
        "server": StorageCommit.Edit(
            from: nil, to: ["name": "new", "log": [1, -1, .integer(PropertyListInteger(UInt64.max)), 1.5, true, false]],
            at: [["name"], ["log", "level"]]),
        "removed": StorageCommit.Edit(from: .data(Data([1, 2, 3])), to: nil),
        "deep": StorageCommit.Edit(from: .date(Date(timeIntervalSinceReferenceDate: 1)), to: nested(depth: 200)),
        "uid": StorageCommit.Edit(from: [], to: .uid(7)),
    ]

    private static func nested(depth: Int) -> PropertyListValue {
        (0..<depth).reduce(1) { value, _ in [value] }
    }

    private static func body(_ edits: [String: StorageCommit.Edit]) throws -> Data {
        var body = Data()
        try JournalCommit(revision: 3, edits: edits, time: Date(timeIntervalSinceReferenceDate: 2), writer: "writer (1)").write(to: &body)
        return body
    }

    private static func read(_ body: Data) -> JournalCommit? {
        body.withUnsafeBytes { JournalCommit.isValid($0) ? JournalCommit(revision: 3, $0) : nil }
    }

    /// Whether everything that a body has can be decoded.
    private static func isDecodable(_ body: Data) -> Bool {
        body.withUnsafeBytes { body in
            var reader = LogReader(body)
            return reader.number(UInt64.self) != nil && reader.bytes() != nil && reader.edits() != nil
        }
    }

    @Test("A commit that is read has the edits, the time and the writer that were written")
    func details() throws {
        let commit = try #require(Self.read(try Self.body(Self.edits)))
        #expect(commit.edits == Self.edits)
        #expect(commit.time == Date(timeIntervalSinceReferenceDate: 2) && commit.writer == "writer (1)")
        var values: EntryEdits = ["text": 0, "other": 1]
        commit.apply(to: &values)
        #expect(values == Self.edits.mapValues(\.newValue).merging(["other": 1]) { $1 })
        var again = Data()
        try commit.write(to: &again)
        #expect(Self.read(again) == commit)
    }

    @Test("A record counts only after the one after which it was written, and a header only with all of its bytes")
    func chain() throws {
        var (bytes, written) = (Data(), JournalRecords(from: 0, after: 1))
        for revision in [1, 2] as [UInt64] {
            let commit = JournalCommit(revision: revision, edits: ["a": .init(from: 0, to: 1)], time: Date(), writer: "writer (1)")
            try written.append(.commit(commit), to: &bytes)
        }
        let second = written.records[1].offset
        #expect(JournalRecords(bytes, from: 0, after: 1).records.map(\.record) == written.records.map(\.record))
        for (bytes, chain) in [(bytes, 2 as UInt64), (Data(bytes[second...]), 1), (Data(bytes[second...] + bytes[..<second]), 1)] {
            let found = JournalRecords(bytes, from: 0, after: chain)
            #expect(found.records.isEmpty && found.hasRemainder)
        }
        let header = JournalHeader(history: 1, seed: 2, first: 3, inode: 4, location: 5, boot: 6)
        #expect(header.bytes.withUnsafeBytes { JournalHeader($0) } == header)
        for index in header.bytes.indices {
            var bytes = header.bytes
            bytes[index] ^= 1
            #expect(bytes.withUnsafeBytes { JournalHeader($0) } == nil, "byte \(index)")
        }
    }

    @Test("The body of a record is refused exactly if it cannot be decoded")
    func damaged() throws {
        var (refused, wrong) = (0, [String]())
        for (key, edit) in Self.edits {
            let body = try Self.body([key: edit])
            for end in 0..<body.count {
                if Self.isDecodable(body[..<end]) != (Self.read(body[..<end]) != nil) { wrong.append("\(key), \(end) bytes") }
            }
            for place in body.indices {
                for byte in [0, 1, 9, 10, 12, 13, 0x7F, 0x80, 0xC3, 0xFF, body[place] ^ 1] as [UInt8] {
                    var damaged = body
                    damaged[place] = byte
                    let isDecodable = Self.isDecodable(damaged)
                    if isDecodable != (Self.read(damaged) != nil) { wrong.append("\(key), byte \(place) is \(byte)") }
                    if !isDecodable { refused += 1 }
                }
            }
        }
        #expect(wrong.isEmpty && refused > 100)
    }

    @Test("Of edits of one key in one record, the last one counts")
    func repeated() throws {
        let one = try Self.body(["k": StorageCommit.Edit(from: 1, to: 2)])
        let other = try Self.body(["k": StorageCommit.Edit(from: 2, to: 3)])
        let start = 8 + 4 + "writer (1)".utf8.count
        var body = one + other[(start + 4)...]
        body[start] = 2
        let commit = try #require(Self.read(body))
        var values: EntryEdits = [:]
        commit.apply(to: &values)
        #expect(values == ["k": 3] && commit.edits["k"]?.newValue == 3)
    }

    @Test("Reading may leave out the commits that a list in place has, and no others; they are checked nevertheless")
    func skipping() throws {
        func commit(_ revision: UInt64) -> JournalRecord {
            .commit(JournalCommit(revision: revision, edits: ["a": StorageCommit.Edit(from: nil, to: "text")]))
        }
        func list(_ revision: UInt64, isPlaced: Bool = false) -> JournalRecord {
            .list(JournaledList(checksum: 1, revision: revision, format: .binary, isPlaced: isPlaced))
        }
        func read(_ records: [JournalRecord], skipping: Bool = true) throws -> JournalRecords {
            var (bytes, written) = (Data(), JournalRecords(from: 64, after: 7))
            for record in records { try written.append(record, to: &bytes) }
            let read = JournalRecords(bytes, from: 64, after: 7, skippingStored: skipping)
            #expect(read.end == written.end && read.chain == written.chain && !read.hasRemainder)
            return read
        }
        let records = [list(0, isPlaced: true), commit(1), commit(2), list(1), commit(3), .placed, commit(4), list(4)]
        #expect(try read(records, skipping: false).records.map(\.record) == records)
        #expect(try read(records).records.map(\.record) == records.filter { $0 != commit(1) })
        #expect(try read(records + [list(4, isPlaced: true)]).records.count == 5)

        // The text of the first commit is not valid, although the checksums are right.
        var (bytes, written) = (Data(), JournalRecords(from: 64, after: 7))
        try written.append(commit(1), to: &bytes)
        let text = try #require(bytes.range(of: Data("text".utf8)))
        bytes.replaceSubrange(text, with: [0xFF, 0xFF, 0xFF, 0xFF])
        let chain = bytes.withUnsafeBytes { JournalFormat.checksum($0, after: 7) }
        withUnsafeBytes(of: chain) { bytes.replaceSubrange(8..<16, with: $0) }
        var end = JournalRecords(from: written.end, after: chain)
        try end.append(list(1, isPlaced: true), to: &bytes)
        for skips in [false, true] {
            let read = JournalRecords(bytes, from: 64, after: 7, skippingStored: skips)
            #expect(read.records.isEmpty && read.end == 64 && read.hasRemainder)
        }
    }
}
