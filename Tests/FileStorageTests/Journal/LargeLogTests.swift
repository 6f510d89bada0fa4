import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Large logs of dead stores", .timeLimit(.minutes(10)))
struct LargeLogTests {
    private typealias Header = EditLogFormat.Header

    /// Leaves a log without edits that takes no space.
    private func leaveSparseLog(_ name: String, in fixture: EditLogFixture) throws {
        try FileManager.default.createDirectory(
            atPath: fixture.logs, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var header = Data(count: Header.size)
        func put(_ word: UInt64, at offset: Int) {
            withUnsafeBytes(of: word) { header.replaceSubrange(offset..<offset + 8, with: $0) }
        }
        put(Header.magic, at: Header.magicOffset)
        put(1, at: Header.store)
        put(1, at: Header.turns.0)
        put(UInt64(EditLogFormat.largestHalf), at: Header.halfSize)
        put(FileSystemCalls.live.boot, at: Header.boot)
        let file = URL(fileURLWithPath: fixture.logs + "/" + name)
        try header.write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path)
        try #require(truncate(file.path, off_t(Header.size + 2 * EditLogFormat.largestHalf)) == 0)
    }

    @Test("Of logs that are large, and have few edits, little is read", arguments: [false, true])
    func sparse(isJournaled: Bool) throws {
        let fixture = try EditLogFixture(["k": 1])
        try fixture.leaveLog(EditLogFixture.chain("k", from: 1, [2]))
        for number in 0..<20 { try leaveSparseLog("sparse-\(number)", in: fixture) }
        let count = Lock(0)
        var calls = FileSystemCalls.live
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            let read = try FileSystemCalls.live.readBytes(descriptor, buffer)
            count.withLock { $0 += read }
            return read
        }
        calls.readBytesAt = { descriptor, buffer, offset throws(SystemError) in
            let read = try FileSystemCalls.live.readBytesAt(descriptor, buffer, offset)
            count.withLock { $0 += read }
            return read
        }
        let backend = PropertyListFile(
            at: fixture.file,
            configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), isJournaled ? .full() : .edits) }, calls: calls)
        #expect(try backend.load().values == ["k": 2])
        #expect(fixture.logNames.isEmpty)
        #expect(count.withLock { $0 } < 20 << 20)
    }

    @Test(
        "Of a large log, a record with a damaged length, or zeros instead of some, is reported, and takes none of the others with it",
        arguments: [0, 4_096, 60 << 10])
    func damaged(zeros: Int) throws {
        let keys = (1_000..<1_300).map { "k\($0)" }
        let fixture = try EditLogFixture([:])
        let edits = keys.enumerated().map { index, key in
            LoggedEdit(key: key, over: 0, value: .data(Data(repeating: 7, count: 1_000)), sequence: UInt64(index) + 1)
        }
        try fixture.leaveLog(edits, halfSize: 1 << 20)
        var (path, bytes) = try fixture.log()
        let length = Int(bytes[Header.size]) + Int(bytes[Header.size + 1]) << 8
        try #require(edits.count * length > 4 * 64 << 10)
        let range = zeros == 0 ? Header.size + 5 * length..<Header.size + 5 * length + 1 : 8_192..<8_192 + zeros
        if zeros == 0 { bytes[range.lowerBound + 5] ^= 1 } else { bytes.resetBytes(in: range) }
        try bytes.write(to: URL(fileURLWithPath: path))
        let (first, last) = ((range.lowerBound - Header.size) / length, (range.upperBound - 1 - Header.size) / length)
        let backend = fixture.backend()
        let values = try backend.load().values
        #expect(keys.indices.filter { values[keys[$0]] == nil } == Array(first...last))
        let prefix = "\(path): cannot be read: its record at byte \(Header.size + first * length) is damaged"
        #expect(backend.list.reports.kept.withLock { $0 }.map { "\($0)".hasPrefix(prefix) } == [true])
    }

    @Test("The edits that are read of a file are those of its bytes, wherever records begin and end", arguments: [100, 20_000, 300_000])
    func portions(size: Int) throws {
        for halfSize in [64 << 10, (256 << 10) + 8, 1 << 20] where size < halfSize {
            let fixture = try EditLogFixture()
            let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: halfSize)
            log.publish()
            var number: UInt64 = 0
            // Both halves are full then.
            repeat {
                number += 1
            } while log.add(
                LoggedEdit(key: "k", over: number, value: .data(Data(count: size + Int(number % 7))), sequence: number))
            let (path, bytes) = try fixture.log()
            let expected = bytes.withUnsafeBytes { EditLogContent($0)?.edits }
            #expect(expected?.count == Int(number - 1))
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            let content = try EditLogContent(
                file.fileDescriptor, header: bytes.prefix(Header.size), size: bytes.count, calls: .live)
            #expect(content?.edits == expected)
            // Others may have cut it.
            let cut = try EditLogContent(file.fileDescriptor, header: bytes.prefix(Header.size), size: bytes.count - 1, calls: .live)
            #expect(cut == nil)
            try #require(truncate(path, off_t(Header.size + halfSize / 2)) == 0)
            let half = try EditLogContent(file.fileDescriptor, header: bytes.prefix(Header.size), size: bytes.count, calls: .live)
            #expect(try expected?.starts(with: #require(half).edits) == true)
            try file.close()
            log.remove()
        }
    }

    @Test("Records that end where a half ends, or a little before, are read", arguments: 0..<6)
    func full(rest: Int) throws {
        let halfSize = 256 << 10
        let fixture = try EditLogFixture()
        let log = try EditLogFolder(list: fixture.list, calls: .live).makeLog(halfSize: halfSize)
        log.publish()
        let empty = try #require(LoggedEdit(key: "k", over: 0, value: .data(Data()), sequence: 1).size) + EditLogFormat.Record.edits
        let edits = (1...2 as ClosedRange<UInt64>).map { sequence in
            LoggedEdit(key: "k", over: 0, value: .data(Data(count: halfSize - empty - 8 * rest)), sequence: sequence)
        }
        for edit in edits { try #require(log.add(edit)) }
        let (path, bytes) = try fixture.log()
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        let content = try EditLogContent(file.fileDescriptor, header: bytes.prefix(Header.size), size: bytes.count, calls: .live)
        #expect(content?.edits == edits)
        try file.close()
        log.remove()
    }

    @Test("A large array in a log takes the memory of its elements, and a wrong count none")
    func array() throws {
        let count = 100_000
        let edit = LoggedEdit(key: "k", over: 0, value: .array(Array(repeating: true, count: count)), sequence: 1)
        let fixture = try EditLogFixture()
        try fixture.leaveLog([edit], halfSize: 1 << 20)
        let (_, bytes) = try fixture.log()
        let edits = try #require(bytes.withUnsafeBytes { EditLogContent($0)?.edits })
        #expect(edits == [edit])
        #expect(try #require(edits.first?.value?.array).capacity < count * 11 / 10)
        // Arrays inside one another, each of which has as many elements as can be counted.
        var deep = Data()
        for _ in 0..<100 {
            deep.append(LogTag.array.rawValue)
            deep += Data(repeating: 0xff, count: 4)
        }
        deep += Data(count: 1 << 20)
        #expect(
            deep.withUnsafeBytes { bytes in
                var reader = LogReader(bytes)
                return reader.value() == nil
            })
    }
}
