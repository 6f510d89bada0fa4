import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Edit log files", .timeLimit(.minutes(10)))
struct EditLogFileTests {
    private static let values: [PropertyListValue?] = [
        nil, "", "text", .string(String(repeating: "é", count: 1_000)), 0, .integer(PropertyListInteger(Int64.min)),
        .integer(PropertyListInteger(UInt64.max)), .real(-0.0), .real(.nan), true, false, .date(Date(timeIntervalSinceReferenceDate: 0.5)),
        .data(Data([1, 2, 3])), .data(Data()), .uid(7), [], [:], [1, "two", [3, ["four": [:]]]], ["a": 1, "b": ["c": [true]]],
    ]

    private func makeLog(_ fixture: EditLogFixture, halfSize: Int = 65_536) throws -> EditLogFile {
        let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: halfSize)
        log.publish()
        return log
    }

    /// The checksum of a record of 1,024 bytes in the first half of a log.
    private func checksum(_ record: UnsafeMutableRawPointer, offset: Int = 0) -> UInt64 {
        EditLogFormat.checksum(record, length: 1_024, offset: offset, seed: EditLogFormat.checksumSeed(store: 0, turn: 1))
    }

    private func bytes(_ fixture: EditLogFixture) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: fixture.logs + "/" + #require(fixture.logNames.first)))
    }

    @Test("Every type of value reads back from a log as it was written")
    func types() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture)
        let edits = Self.values.enumerated().map { index, value in
            LoggedEdit(key: "key \(index)", path: index % 2 == 0 ? [] : ["a", "ü"], over: 5, value: value, sequence: UInt64(index) + 1)
        }
        for edit in edits { #expect(log.add(edit)) }
        #expect(log.edits == edits)
        log.remove()
        #expect(!FileManager.default.fileExists(atPath: fixture.logs))
    }

    @Test("The header has the magic, the store and the size of a half at the documented places")
    func header() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture)
        #expect(log.add(LoggedEdit(key: "k", over: 0, value: 1, sequence: 9)))
        let bytes = try bytes(fixture)
        #expect(bytes.prefix(8) == Data("plEDIT01".utf8))
        #expect(bytes[24..<32].elementsEqual([0, 0, 1, 0, 0, 0, 0, 0]))
        #expect(bytes.count == 4_096 + 2 * 65_536)
        let store = bytes[8..<16].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        #expect(fixture.logNames == ["\(getpid())-\(String(store, radix: 16))"])
        // Length 56: 28 for the record, 8 over, 4 and 1 for the key, 4 for the path, 1 and 8 for the value, 2 to a multiple of 8.
        #expect(bytes[4_096..<4_104].elementsEqual([56, 0, 0, 0, 0, 0, 0, 0]))
        #expect(bytes[4_112] == 9)
        withExtendedLifetime(log) {}
    }

    @Test("Equal values have the same fingerprint, whatever the order of a dictionary, and different ones have not")
    func fingerprints() {
        let prints = Self.values.map(\.fingerprint)
        #expect(Set(prints).count == prints.count)
        #expect(prints[0] == 0)
        let names = (0..<50).map(String.init)
        let forth = names.reduce(into: [String: PropertyListValue]()) { $0[$1] = 1 }
        let back = names.reversed().reduce(into: [String: PropertyListValue]()) { $0[$1] = 1 }
        #expect(PropertyListValue?.some(.dictionary(forth)).fingerprint == PropertyListValue?.some(.dictionary(back)).fingerprint)
    }

    @Test("Committed edits do not count, and their space is used again")
    func commits() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture, halfSize: 256)
        for sequence in 1...1_000 as ClosedRange<UInt64> {
            #expect(log.add(LoggedEdit(key: "k", over: 0, value: .integer(PropertyListInteger(sequence)), sequence: sequence)))
            // Up to two records are pending at any time.
            if sequence > 1 { log.markCommitted(upTo: sequence - 1, in: nil) }
            #expect(log.edits.map(\.sequence) == [sequence])
        }
        log.markCommitted(upTo: 1_000, in: nil)
        #expect(log.edits.isEmpty)
    }

    @Test("Edits in both halves count in their order, and a full file takes no more")
    func halves() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture, halfSize: 256)
        var sequence: UInt64 = 0
        func fill() {
            while log.add(LoggedEdit(key: "k", over: 0, value: 1, sequence: sequence + 1)) { sequence += 1 }
        }
        fill()
        #expect(sequence == 8)
        #expect(log.edits.map(\.sequence) == Array(1...8))
        // The first half is free again, and filled after the second.
        log.markCommitted(upTo: 4, in: nil)
        fill()
        #expect(sequence == 12)
        #expect(log.edits.map(\.sequence) == Array(5...12))
    }

    @Test("The records that are not in the list are copied to a larger file as they are")
    func copies() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture, halfSize: 4_096)
        for (index, value) in (Self.values + Self.values).enumerated() where index != 3 && index != 3 + Self.values.count {
            let path = index % 2 == 0 ? [] : ["a"]
            #expect(log.add(LoggedEdit(key: "key \(index)", path: path, over: 5, value: value, sequence: UInt64(index))))
        }
        log.markCommitted(upTo: 4, in: nil)
        let larger = try makeLog(fixture)
        #expect(log.copyRecords(to: larger))
        #expect(larger.edits == log.edits)
        #expect(larger.edits.first?.sequence == 5)
        #expect(log.uncommittedSize <= 2 * 4_096)
        // One that is too small is not filled beyond its end.
        let small = try makeLog(fixture, halfSize: 256)
        #expect(!log.copyRecords(to: small))
        let edits = log.edits
        larger.publish(insteadOf: log)
        #expect(log.edits.isEmpty && larger.edits == edits)
    }

    @Test("A file that others put at the path of a log is not removed with that")
    func exchanged() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture)
        let path = try fixture.logs + "/" + #require(fixture.logNames.first)
        try Disk.replace(path, "other")
        log.remove()
        #expect(try String(contentsOf: URL(fileURLWithPath: path), encoding: .utf8) == "other")
    }

    /// What others may have written where the lengths, sequences and checksums of records are.
    private static let hostileWords: [UInt64] = [
        0, 1, 7, 8, 16, 27, 32, 4_096, 3_000_000, 1 << 31, 1 << 32, 1 << 63, .max, .max - 7, .max - 65_535,
    ]

    @Test("Records that others have changed in the mapped memory are not copied, and nothing beyond them is", arguments: [0, 8, 16])
    func changedRecords(field: Int) throws {
        for word in Self.hostileWords {
            let fixture = try EditLogFixture()
            let log = try makeLog(fixture, halfSize: 4_096)
            for edit in EditLogFixture.chain("k", from: 1, [2, 3, 4]) { #expect(log.add(edit)) }
            let whole = log.edits
            let path = try fixture.logs + "/" + #require(fixture.logNames.first)
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: UInt64(EditLogFormat.Header.size + field))
            try file.write(contentsOf: withUnsafeBytes(of: word) { Data($0) })
            try file.close()
            let larger = try makeLog(fixture)
            if !log.copyRecords(to: larger) { #expect(larger.edits.allSatisfy(whole.contains), "\(field), \(word)") }
            #expect(larger.edits == [] || larger.edits == whole, "\(field), \(word)")
        }
    }

    @Test("The bytes of texts of any length count in fingerprints")
    func textFingerprints() {
        var prints: Set<UInt64> = []
        var count = 0
        for length in 0...70 {
            for position in 0..<max(length, 1) {
                var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
                if length > 0 { bytes[position] = UInt8(ascii: "b") }
                prints.insert(PropertyListValue?.some(.string(String(decoding: bytes, as: UTF8.self))).fingerprint)
                prints.insert(PropertyListValue?.some(.data(Data(bytes))).fingerprint)
                count += 2
            }
        }
        #expect(prints.count == count)
    }

    @Test("A damaged record ends the log, and no bytes make reading it fail")
    func damage() throws {
        let fixture = try EditLogFixture()
        let log = try makeLog(fixture, halfSize: 4_096)
        let edits = Self.values.enumerated().map { LoggedEdit(key: "k\($0)", over: 5, value: $1, sequence: UInt64($0) + 1) }
        for edit in edits where edit.key != "k3" { #expect(log.add(edit)) }
        let original = [UInt8](try bytes(fixture))
        let whole = original.withUnsafeBytes { EditLogContent($0)?.edits ?? [] }
        #expect(whole.count == edits.count - 1)
        var generator = SeededGenerator(seed: firstSeed)
        for _ in 0..<5_000 {
            var mutated = original
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: mutated[Int.random(in: 0..<min(80, mutated.count), using: &generator)] = .random(in: 0...255, using: &generator)
                case 1: mutated.removeLast(Int.random(in: 0..<mutated.count / 2, using: &generator))
                case 2 where mutated.count > 4_200:
                    mutated[Int.random(in: 4_096..<min(5_000, mutated.count), using: &generator)] ^= .random(in: 1...255, using: &generator)
                default:
                    let index = Int.random(in: 0..<mutated.count - 8, using: &generator)
                    for offset in 0..<8 { mutated[index + offset] = [0, 255, 127].randomElement(using: &generator) ?? 0 }
                }
            }
            let found = mutated.withUnsafeBytes { EditLogContent($0)?.edits ?? [] }
            // Whatever is found was written: no damaged record counts.
            #expect(found.allSatisfy { whole.contains($0) })
        }
        withExtendedLifetime(log) {}
    }

    @Test("A record with a path of more steps than a value may be deep is damaged: replaying it would exhaust the stack")
    func longPath() throws {
        var bytes = [UInt8](repeating: 0, count: 4_096 + 2 * 2_048)
        bytes.replaceSubrange(0..<8, with: Data("plEDIT01".utf8))
        bytes[24...25] = [0, 8]
        bytes[16] = 1
        func add(steps: UInt32, sequence: UInt64, at offset: Int) {
            bytes.withUnsafeMutableBytes { buffer in
                let record = buffer.baseAddress! + 4_096 + offset
                record.storeBytes(of: 1_024, as: UInt32.self)
                record.storeBytes(of: sequence, toByteOffset: 16, as: UInt64.self)
                record.storeBytes(of: 1, toByteOffset: 24, as: UInt32.self)
                // An empty key, and empty names; the rest is a removal.
                record.storeBytes(of: steps, toByteOffset: 40, as: UInt32.self)
                record.storeBytes(of: checksum(record, offset: offset), toByteOffset: 8, as: UInt64.self)
            }
        }
        func content() throws -> EditLogContent { try #require(bytes.withUnsafeBytes { EditLogContent($0) }) }
        add(steps: 128, sequence: 1, at: 0)
        #expect(try content().edits.count == 1)
        add(steps: 129, sequence: 1, at: 0)
        #expect(try content().damages.map(\.offset) == [4_096])
        add(steps: 128, sequence: 2, at: 1_024)
        #expect(try content().damages.map(\.offset) == [4_096])
        #expect(try content().edits.map(\.sequence) == [2])
        bytes[40] = 1
        #expect(try content().damages.isEmpty)
        #expect(try content().edits.map(\.sequence) == [2])
    }

    @Test("A record whose checksum is right but whose content is not makes no reading fail", arguments: 0..<64)
    func maliciousContent(seed: Int) throws {
        // The reader is given random bytes where edits are expected.
        var generator = SeededGenerator(seed: UInt64(seed))
        var bytes = [UInt8](repeating: 0, count: 4_096 + 2 * 1_024)
        bytes.replaceSubrange(0..<8, with: Data("plEDIT01".utf8))
        bytes[24...25] = [0, 4]
        bytes[16] = 1
        for index in 4_112..<5_120 { bytes[index] = .random(in: 0...UInt8(seed % 13 + 1), using: &generator) }
        bytes.withUnsafeMutableBytes { buffer in
            let record = buffer.baseAddress! + 4_096
            record.storeBytes(of: 1_024, as: UInt32.self)
            let checksum = checksum(record)
            record.storeBytes(of: checksum, toByteOffset: 8, as: UInt64.self)
        }
        _ = bytes.withUnsafeBytes { EditLogContent($0)?.edits }
    }

    @Test("Compaction keeps every value that may be stored, and the last one")
    func compaction() {
        let edits = EditLogFixture.chain("k", from: nil, [1, 2, 3, 4, 5]) + EditLogFixture.chain("l", from: nil, [1])
        let compact = edits.compacted(keeping: [2])
        #expect(compact.map(\.key) == ["k", "k", "l"])
        #expect(compact.map(\.value) == [2, 5, 1])
        #expect(compact[0].over == 0)
        #expect(compact[1].over == PropertyListValue?.some(2).fingerprint)
    }
}
