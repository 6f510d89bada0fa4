import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Entry tables at random", .timeLimit(.minutes(5)))
struct EntryTableModelTests {
    @Test("Several tables and their copies, all written with the same keys, are as dictionaries would be", arguments: 0..<UInt64(40))
    func tables(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let starts = [[:], ["a": 1, "b": 2, "c": 3, "e\u{301}": 4], ["c": 1, "b": 0]] as [[String: PropertyListValue]]
        var twins = starts.map { Twin($0) }
        // Two keys for each name, and two spellings of one.
        let names = ["a", "b", "c", "d", "\u{e9}", "e\u{301}"]
        var keys = (names + names).map { (name: $0, hint: EntryHint()) }
        let choices: [PropertyListValue?] = [nil, nil, 1, 2]
        let conditions: [MemoryState.Edits?] = [nil, nil, [:], ["z": .some(1)]]
        for step in 1...400 as ClosedRange<UInt64> {
            let place = Int.random(in: twins.indices, using: &generator)
            let key = Int.random(in: keys.indices, using: &generator)
            let value = choices.randomElement(using: &generator) ?? nil
            let condition = conditions.randomElement(using: &generator) ?? nil
            switch Int.random(in: 0..<20, using: &generator) {
            case 0..<9: twins[place].exchange(keys[key].name, value, edit: step, hint: &keys[key].hint)
            case 9..<12: twins[place].exchange(keys[key].name, value, edit: step, condition: condition)
            case 12..<14: twins[place].exchange(keys[key].name, value, edit: 0, condition: nil)
            case 14..<16: twins[place].hold(keys[key].name)
            case 16: twins[place].letGo(keys[key].name)
            case 17: twins[place].noteStored()
            case 18: twins[place].crowd()
            default: twins[place] = twins.randomElement(using: &generator) ?? twins[place]
            }
            twins[place].check()
        }
    }

    /// A table and what it has to be.
    private struct Twin {
        private var table: EntryTable
        private var values: [String: PropertyListValue]
        private var pending: [String: PendingEdit] = [:]
        private var order: [String] = []
        private var written: [String: PendingEdit] = [:]
        private var held: [String: EntryWatch] = [:]

        init(_ start: [String: PropertyListValue]) {
            table = EntryTable(start)
            values = start
        }

        mutating func exchange(_ name: String, _ value: PropertyListValue?, edit: UInt64, hint: inout EntryHint) {
            let changes = held[name]?.changes ?? 0
            let old = table.exchange(name, value, edit: edit, hint: &hint)
            note(old, name, value, edit: edit, condition: nil, changes: changes)
        }

        mutating func exchange(_ name: String, _ value: PropertyListValue?, edit: UInt64, condition: MemoryState.Edits?) {
            let changes = held[name]?.changes ?? 0
            let old = table.exchange(name, value, edit: edit, condition: condition)
            note(old, name, value, edit: edit, condition: condition, changes: changes)
        }

        private mutating func note(
            _ old: PropertyListValue??, _ name: String, _ value: PropertyListValue?, edit: UInt64, condition: MemoryState.Edits?,
            changes: UInt64
        ) {
            let isNew = values[name] != value
            #expect((old != nil) == isNew)
            if let watch = held[name] { #expect(watch.changes == changes + (isNew ? 1 : 0)) }
            // Setting what is there already makes an edit that depended on something count whatever happens.
            if !isNew, edit != 0, condition == nil {
                pending[name] = pending[name].map { PendingEdit(value: $0.value, condition: [:], revision: $0.revision) }
            }
            guard isNew, let old else { return }
            #expect(old == values[name])
            values[name] = value
            if edit == 0 {
                pending[name] = pending[name].map { PendingEdit(value: value, condition: $0.condition, revision: $0.revision) }
            } else {
                if pending[name] == nil { order.append(name) }
                pending[name] = PendingEdit(value: value, condition: condition ?? [:], revision: edit)
            }
        }

        mutating func hold(_ name: String) {
            let watch = table.madeWatch(name)
            #expect(held[name] == nil || held[name] === watch)
            held[name] = watch
        }

        mutating func letGo(_ name: String) {
            held[name] = nil
        }

        /// Stores the edits that were there when it was last called: some have been made anew since.
        mutating func noteStored() {
            table.noteStored(written)
            for (name, edit) in written where pending[name]?.revision == edit.revision { pending[name] = nil }
            order.removeAll { pending[$0] == nil }
            written = table.pending
        }

        /// Reads so many names that nobody has written that those without a reader are forgotten.
        mutating func crowd() {
            for number in 0..<70 { _ = table.madeWatch("crowd \(number)") }
            #expect(table.count < 200)
        }

        func check() {
            #expect(table.values == values)
            #expect(table.names.count == values.count && Set(table.names) == Set(values.keys))
            #expect(["a", "b", "c", "d", "\u{e9}", "e\u{301}"].allSatisfy { table[$0] == values[$0] })
            #expect(table.pendingNames == order && table.hasPending != order.isEmpty)
            let found = table.pending
            #expect(found.count == pending.count)
            for (name, edit) in pending {
                #expect(found[name]?.value == .some(edit.value) && found[name]?.revision == edit.revision)
                #expect(found[name]?.condition == edit.condition && table.pending(name)?.revision == edit.revision)
            }
            for (name, watch) in held { #expect(table.watch(name) === watch) }
        }
    }
}
