import PropertyListCoding
import Testing

@testable import ObservableStorage

@Suite("The entries in memory", .timeLimit(.minutes(5)))
struct EntryTableTests {
    @Test("An entry that is edited again is to be written once, until it is stored")
    func editedAgain() {
        var hint = -1
        var table = EntryTable([:])
        for number in 1...3 { _ = table.exchange("count", .integer(PropertyListInteger(Int64(number))), edit: UInt64(number), hint: &hint) }
        #expect(table.pendingNames == ["count"])
        #expect(table.pending.mapValues(\.value) == ["count": 3])
        table.noteStored(table.pending)
        #expect(table.pendingNames.isEmpty)
        #expect(table["count"] == 3)
    }

    @Test("What is removed, and whoever removes it, leaves nothing behind once that is stored")
    func removed() {
        var hint = -1
        var table = EntryTable(["ours": 1, "theirs": 2])
        _ = table.exchange("theirs", nil, edit: 0, hint: &hint)
        _ = table.exchange("nobody's", nil, edit: 1, hint: &hint)
        #expect(table.count == 1 && table.pendingNames.isEmpty)
        _ = table.exchange("ours", nil, edit: 2, hint: &hint)
        #expect(table.pending.mapValues(\.value) == ["ours": nil])
        table.noteStored(table.pending)
        #expect(table.count == 0)
    }

    @Test("A removed entry keeps what its readers hold on to, which counts the removal and what is set later")
    func watched() {
        var hint = -1
        var table = EntryTable(["a": 1])
        let watch = table.madeWatch("a")
        _ = table.exchange("a", nil, edit: 0, hint: &hint)
        _ = table.exchange("a", 2, edit: 1, hint: &hint)
        #expect(watch.changes == 2)
        #expect(table.watch("a") === watch)
    }

    @Test("A hint leads to the entry of that name only, whoever has been put in its place meanwhile, or wherever it leads")
    func hints() {
        var table = EntryTable(["a": 1, "b": 2])
        var (first, second) = (-1, 99)
        _ = table.exchange("a", 10, edit: 0, hint: &first)
        _ = table.exchange("b", 20, edit: 0, hint: &second)
        #expect(first != second)
        swap(&first, &second)
        _ = table.exchange("a", 11, edit: 0, hint: &first)
        _ = table.exchange("b", nil, edit: 0, hint: &second)
        #expect(table.values == ["a": 11])
        var vacated = second
        _ = table.exchange("b", 21, edit: 0, hint: &vacated)
        _ = table.exchange("a", nil, edit: 0, hint: &first)
        _ = table.exchange("c", 3, edit: 0, hint: &first)
        #expect(table.values == ["b": 21, "c": 3])
        #expect(table.count == 2)
    }
}
