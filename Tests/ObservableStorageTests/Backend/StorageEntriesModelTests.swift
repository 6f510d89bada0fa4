import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Random operations on storage entries", .timeLimit(.minutes(10)))
struct StorageEntriesModelTests {
    @Test(
        "Entries that are copied, edited, normalized and created from others have value semantics and exact differences",
        arguments: visited(0..<UInt64(40)))
    func entries(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var values = (0..<8).map { count in
            (0..<count * count).reduce(into: [String: PropertyListValue]()) { $0["\($1)"] = .real(0.1) }
        }
        var entries = values.map { StorageEntries($0) }
        var edited = [Set<String>](repeating: [], count: entries.count)
        for _ in 0..<300 {
            let source = Int.random(in: entries.indices, using: &generator)
            let target = Int.random(in: entries.indices, using: &generator)
            (entries[target], values[target], edited[target]) = (entries[source], values[source], edited[source])
            let origin = entries[source]
            switch Int.random(in: 0..<12, using: &generator) {
            case 0..<6:
                for (key, value) in Self.edits(&generator) {
                    if values[target][key] != value { edited[target].insert(key) }
                    entries[target][key] = value
                    values[target][key] = value
                }
            case 6:
                let changes = Self.edits(&generator).filter { values[source][$0.key] != $0.value }
                entries[target] = StorageEntries(origin, with: changes)
                for (key, value) in changes { values[target][key] = value }
                edited[target] = []
                #expect(entries[target].changes(since: origin) == changes)
            case 7:
                entries[target].gather()
                #expect(entries[target].changes(since: origin).isEmpty)
            case 8:
                let format: PropertyListFormat = Bool.random(using: &generator) ? .xml : .binary
                entries[target] = origin.stored(as: format)
                for key in edited[source] { values[target][key] = values[target][key]?.rounded(for: format) }
                edited[target] = []
            case 9:
                entries[target] = origin.unedited
                edited[target] = []
            default:
                let (name, value) = Self.innerEdit(&generator)
                do throws(StorageError) {
                    let whole = try name.replacing(value, in: values[target][name.own])
                    try entries[target].set(value, at: name)
                    if values[target][name.own] != whole { edited[target].insert(name.own) }
                    values[target][name.own] = whole
                } catch {
                    #expect(throws: error) { try entries[target].set(value, at: name) }
                }
            }
            // The original is unchanged.
            for place in [source, target] {
                #expect(entries[place].values == values[place] && entries[place].editedKeys == edited[place])
            }
            let other = Int.random(in: entries.indices, using: &generator)
            #expect(entries[target].changes(since: entries[other]) == Self.changes(from: values[other], to: values[target]))
            #expect(entries[other].changes(since: entries[target]) == Self.changes(from: values[target], to: values[other]))
        }
        for place in entries.indices {
            #expect(entries[place].values == values[place])
            for key in values[place].keys { #expect(entries[place][key] == values[place][key]) }
        }
    }

    private static let choices: [PropertyListValue?] = [nil, nil, 1, .real(0.1), .date(Date(timeIntervalSinceReferenceDate: 0.5))]

    /// An edit of a value inside one of the dictionaries, which are not edited as a whole.
    private static func innerEdit(_ generator: inout SeededGenerator) -> (name: EntryName, value: PropertyListValue?) {
        let path = (0..<Int.random(in: 1...2, using: &generator)).map { _ in "\(Int.random(in: 0..<3, using: &generator))" }
        let name = EntryName(own: "\(Int.random(in: 60..<64, using: &generator))", path: path)
        return (name, choices.randomElement(using: &generator) ?? nil)
    }

    private static func edits(_ generator: inout SeededGenerator) -> [String: PropertyListValue?] {
        (0..<Int.random(in: 1...8, using: &generator)).reduce(into: [:]) { edits, _ in
            let value = choices.randomElement(using: &generator) ?? nil
            edits.updateValue(value, forKey: "\(Int.random(in: 0..<60, using: &generator))")
        }
    }

    private static func changes(
        from old: [String: PropertyListValue], to new: [String: PropertyListValue]
    ) -> [String: PropertyListValue?] {
        Set(old.keys).union(new.keys).reduce(into: [:]) { changes, key in
            if old[key] != new[key] { changes.updateValue(new[key], forKey: key) }
        }
    }
}
