import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Commits of a journal that are decoded when they are needed.
@Suite("Encoded commits of a journal")
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
        body.withUnsafeBytes { JournalCommit(revision: 3, $0) }
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
        for commit in [commit, commit.decoded] {
            #expect(commit.edits == Self.edits)
            #expect(commit.details.time == Date(timeIntervalSinceReferenceDate: 2) && commit.details.writer == "writer (1)")
            var values: EntryEdits = ["text": 0, "other": 1]
            commit.apply(to: &values)
            #expect(values == Self.edits.mapValues(\.newValue).merging(["other": 1]) { $1 })
        }
        var again = Data()
        try commit.write(to: &again)
        #expect(Self.read(again) == commit)
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
}
