import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Random operations on entry tables", .timeLimit(.minutes(10)))
struct EntryTableModelTests {
    @Test("Several tables written under the same names are equal to dictionaries", arguments: visited(0..<UInt64(40)))
    func tables(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let starts = [[:], ["a": 1, "b": 2, "c": 3, "e\u{301}": 4], ["c": 1, "b": 0]] as [[String: PropertyListValue]]
        var twins = starts.map { Twin($0, StoredValues($0)) }
        let lazy = starts[2]
        twins.append(Twin(lazy, StoredValues(try #require(LazyEntries(try PropertyListValue.dictionary(lazy).encoded(as: .binary))))))
        // Two normalizations of one name.
        let names = ["a", "b", "c", "d", "\u{e9}", "e\u{301}"]
        let choices: [PropertyListValue?] = [nil, nil, 1, 2]
        let conditions: [EntryEdits?] = [nil, nil, [:], ["z": .some(1)]]
        for step in 1...400 as ClosedRange<UInt64> {
            let place = Int.random(in: twins.indices, using: &generator)
            let name = names.randomElement(using: &generator) ?? ""
            let value = choices.randomElement(using: &generator) ?? nil
            let condition = conditions.randomElement(using: &generator) ?? nil
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<9: twins[place].exchange(name, value, edit: step, condition: nil)
            case 9..<12: twins[place].exchange(name, value, edit: step, condition: condition)
            case 12..<14: twins[place].exchange(name, value, edit: 0, condition: nil)
            case 14..<16: twins[place].hold(name)
            case 16: twins[place].letGo(name)
            case 17: twins[place].markWritten()
            case 18: try twins[place].rebase(using: &generator)
            default: twins[place].sweep()
            }
            twins[place].check()
        }
    }

    /// A table and its expected content.
    private struct Twin {
        private var table: EntryTable
        private var values: [String: PropertyListValue]
        private var pending: [String: PendingEdit] = [:]
        private var written: [String: PendingEdit] = [:]
        private var held: [String: Entry] = [:]

        init(_ start: [String: PropertyListValue], _ stored: StoredValues) {
            table = EntryTable(stored, store: 1)
            values = start
        }

        mutating func exchange(_ name: String, _ value: PropertyListValue?, edit: UInt64, condition: EntryEdits?) {
            let changes = held[name]?.version ?? 0
            let old = table.exchange(name, value, edit: edit, condition: condition)
            note(old, name, value, edit: edit, condition: condition, changes: changes)
        }

        private mutating func note(
            _ old: PropertyListValue??, _ name: String, _ value: PropertyListValue?, edit: UInt64, condition: EntryEdits?,
            changes: UInt64
        ) {
            let isNew = values[name] != value
            #expect((old != nil) == isNew)
            if let entry = held[name] { #expect(entry.version == changes + (isNew ? 1 : 0)) }
            // Setting an equal value of a dependent edit makes it unconditional.
            if !isNew, edit != 0, condition == nil {
                pending[name] = pending[name].map { PendingEdit(value: $0.value, condition: [:], revision: $0.revision) }
            }
            guard isNew, let old else { return }
            #expect(old == values[name])
            values[name] = value
            if edit == 0 {
                pending[name] = pending[name].map { PendingEdit(value: value, condition: $0.condition, revision: $0.revision) }
            } else {
                pending[name] = PendingEdit(value: value, condition: condition ?? [:], revision: edit)
            }
        }

        mutating func hold(_ name: String) {
            let entry = table.ensureEntry(name)
            #expect(held[name] == nil || held[name] === entry)
            held[name] = entry
        }

        mutating func letGo(_ name: String) {
            held[name] = nil
        }

        /// Stores the edits pending at the last call: some have been made again since.
        mutating func markWritten() {
            table.markWritten(written)
            for (name, edit) in written where pending[name]?.revision == edit.revision { pending[name] = nil }
            written = table.pending
        }

        /// Takes values from a storage that has other values of some entries, and of those with pending edits.
        mutating func rebase(using generator: inout SeededGenerator) throws {
            var stored = values
            let edited = ["a", "b", "d"].filter { _ in Int.random(in: 0..<3, using: &generator) == 0 }
            for name in edited + pending.keys { stored[name] = [nil, 0, 1].randomElement(using: &generator) ?? nil }
            let list = LazyEntries(try PropertyListValue.dictionary(stored).encoded(as: .binary))
            _ = table.rebase(on: list.map { StoredValues($0) } ?? StoredValues(stored), except: edited)
        }

        /// Reads enough unwritten names that unused ones are removed.
        mutating func sweep() {
            for number in 0..<70 { _ = table.ensureEntry("unheld \(number)") }
            #expect(table.count < 200)
        }

        func check() {
            #expect(table.values == values)
            #expect(table.names.count == values.count && Set(table.names) == Set(values.keys))
            #expect(["a", "b", "c", "d", "\u{e9}", "e\u{301}"].allSatisfy { table[$0] == values[$0] })
            #expect(table.hasPending != pending.isEmpty)
            let found = table.pending
            #expect(found.count == pending.count)
            for (name, edit) in pending {
                #expect(found[name]?.value == .some(edit.value) && found[name]?.revision == edit.revision)
                #expect(found[name]?.condition == edit.condition && table.pending(name)?.revision == edit.revision)
            }
            for (name, entry) in held { #expect(table.entry(name) === entry) }
        }
    }
}
