import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("The entries in memory", .timeLimit(.minutes(5)))
struct EntryTableTests {
    @Test("An entry that is edited again is to be written once, until it is stored")
    func editedAgain() {
        var table = EntryTable([:])
        for number in 1...3 { _ = table.exchange("count", .integer(PropertyListInteger(Int64(number))), edit: UInt64(number)) }
        #expect(table.pendingNames == ["count"])
        #expect(table.pending.mapValues(\.value) == ["count": 3])
        table.noteStored(table.pending)
        #expect(table.pendingNames.isEmpty)
        #expect(table["count"] == 3)
    }

    @Test("What is removed, and whoever removes it, leaves nothing behind once that is stored")
    func removed() {
        var table = EntryTable(["ours": 1, "theirs": 2])
        _ = table.exchange("theirs", nil, edit: 0)
        _ = table.exchange("nobody's", nil, edit: 1)
        #expect(table.count == 1 && table.pendingNames.isEmpty)
        _ = table.exchange("ours", nil, edit: 2)
        #expect(table.pending.mapValues(\.value) == ["ours": nil])
        table.noteStored(table.pending)
        #expect(table.count == 0)
    }

    @Test("A removed entry keeps what its readers hold on to, which counts the removal and what is set later")
    func watched() {
        var table = EntryTable(["a": 1])
        let watch = table.madeWatch("a")
        _ = table.exchange("a", nil, edit: 0)
        _ = table.exchange("a", 2, edit: 1)
        #expect(watch.changes == 2)
        #expect(table.watch("a") === watch)
    }
}
