import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// In-place writes of the same size, on file systems with a controlled clock.
@Suite("Property-list file and timestamp resolution", .timeLimit(.minutes(10)))
struct FileClockTests {
    /// A clock's tick, and the times at which a file is written, checked, and written again within that tick, in nanoseconds.
    struct Tick: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let length: Int64
        let look: Int64
        let write: Int64

        static let all = [
            Tick(testDescription: "every 10 ms", length: 10_000_000, look: 1_000_000, write: 9_000_000),
            Tick(testDescription: "every second", length: 1_000_000_000, look: 300_000_000, write: 900_000_000),
            Tick(testDescription: "every other second", length: 2_000_000_000, look: 1_990_000_000, write: 1_999_000_000),
        ]
    }

    private static let start: Int64 = 1_700_000_000_000_000_000
    /// The end of the longest tick.
    private static let end: Int64 = 2_060_000_000
    private let folder: TemporaryFolder
    private let clock = FileClock()

    init() throws {
        folder = try TemporaryFolder()
    }

    private func write(_ count: PropertyListInteger, at time: Int64, by tick: Tick) throws {
        try PropertyListValue.dictionary(["count": .integer(count)]).encoded(as: .binary).write(to: folder.file("list"))
        clock.wrote(at: Self.start + time / tick.length * tick.length)
        clock.set(Self.start + time)
    }

    private func list() -> PropertyListFile {
        PropertyListFile(at: folder.file("list"), calls: clock.calls)
    }

    /// Writes again within the tick, and lets the list check long after it.
    private func expectNextWrite(by tick: Tick, seenBy list: PropertyListFile) throws {
        try write(2, at: tick.write, by: tick)
        clock.set(Self.start + tick.length * 10)
        #expect(try list.load().values == ["count": 2])
    }

    @Test("A write within the same clock tick as the last check is detected", arguments: Tick.all)
    func seen(tick: Tick) throws {
        let list = list()
        try write(1, at: 0, by: tick)
        clock.set(Self.start + tick.look)
        #expect(try list.load().values == ["count": 1])
        try expectNextWrite(by: tick, seenBy: list)
    }

    @Test("It is detected even if the writer set the modification time back", arguments: Tick.all)
    func pretended(tick: Tick) throws {
        clock.pretendModified(at: 1_000_000_000)
        try seen(tick: tick)
    }

    @Test("The age of a file is that of its last change, also with a modification time in the future, or without a time of the change")
    func age() {
        func age(_ modified: Int64, _ changed: Int64) -> TimeInterval {
            FileIdentity(device: 1, inode: 1, size: 0, modified: modified * 1_000_000_000, changed: changed * 1_000_000_000)
                .age(at: Date(timeIntervalSince1970: 100))
        }
        #expect([age(90, 95), age(200, 95), age(90, 0), age(200, 0), age(200, 150)] == [10, 5, 10, 0, 0])
    }

    @Test("A list that a copy with a modification time in the future has emptied is empty once it stays so")
    func emptiedByCopy() throws {
        let list = list()
        try write(1, at: 0, by: Tick.all[0])
        #expect(try list.load().values == ["count": 1])
        try Data().write(to: folder.file("list"))
        clock.pretendModified(at: Self.start * 2)
        clock.set(Self.start + Self.end)
        #expect(try list.load().values.isEmpty)
    }

    @Test("It is not lost in an edit", arguments: Tick.all)
    func kept(tick: Tick) throws {
        let list = list()
        try write(1, at: 0, by: tick)
        clock.set(Self.start + tick.look)
        _ = try list.load()
        try write(2, at: tick.write, by: tick)
        clock.set(Self.start + tick.length * 10)
        #expect(try list.edit { $0["name"] = "a" }.values == ["count": 2, "name": "a"])
    }

    @Test("Nor if reading took longer than the tick, whatever was read before", arguments: Tick.all, [nil, 1, 0])
    func slow(tick: Tick, before: PropertyListInteger?) throws {
        let list = list()
        if let before {
            try write(before, at: -tick.length * 10, by: tick)
            _ = try list.load()
        }
        try write(1, at: 0, by: tick)
        clock.set(Self.start + tick.look)
        clock.whenRead { clock.set(Self.start + tick.length * 10) }
        #expect(try list.load().values == ["count": 1])
        try expectNextWrite(by: tick, seenBy: list)
    }

    @Test("Nor if it was made before the library's own write was synchronized", arguments: Tick.all)
    func written(tick: Tick) throws {
        let list = list()
        try write(1, at: 0, by: tick)
        clock.whenRenamed {
            do { try write(2, at: tick.write, by: tick) } catch { Issue.record(error) }
            clock.set(Self.start + tick.length * 10)
        }
        _ = try list.edit { $0["count"] = 3 }
        #expect(try list.load().values == ["count": 2])
    }

    @Test("A file checked after the tick is not read again", arguments: Tick.all)
    func notReadAgain(tick: Tick) throws {
        let list = list()
        try write(1, at: 0, by: tick)
        clock.set(Self.start + Self.end)
        _ = try list.load()
        let reads = clock.reads
        _ = try list.load()
        #expect(clock.reads == reads)
    }
}
