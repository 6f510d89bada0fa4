import PropertyListCoding

/// Decides what the edits of a dead store make of the stored entries.
///
/// The edits of a key form a chain of values, each made over the one before. If the stored value is one of the chain, nobody else has
/// changed it, and the last value of the chain is the result; otherwise somebody else has changed it later, and the stored value wins.
/// The same holds for a value inside a dictionary that was edited by itself. Values may have been rounded, if the list is or was XML.
struct EditReplay {
    /// The values that differ from the stored ones.
    private(set) var changes: EntryEdits = [:]
    /// The keys whose stored values win, sorted.
    private(set) var conflicts: [String] = []

    /// - Parameter edits: the edits of one log, in their order.
    init(_ edits: [LoggedEdit], over stored: (String) -> PropertyListValue?) {
        var lost: Set<String> = []
        for (key, edits) in Dictionary(grouping: edits, by: \.key) {
            let found = stored(key)
            let value = result(of: edits, over: found, key, &lost)
            if value != found { changes.updateValue(value, forKey: key) }
        }
        conflicts = lost.sorted()
    }

    /// Consecutive edits that are either all of the value at a path, or all of values inside it.
    private typealias Run = (isWhole: Bool, edits: [LoggedEdit])

    private func runs(of edits: [LoggedEdit], at path: [String]) -> [Run] {
        var runs: [Run] = []
        for edit in edits {
            let isWhole = edit.path.count == path.count
            if runs.last?.isWhole == isWhole {
                runs[runs.count - 1].edits.append(edit)
            } else {
                runs.append((isWhole, [edit]))
            }
        }
        return runs
    }

    private func result(
        of edits: [LoggedEdit], over stored: PropertyListValue?, _ key: String, _ lost: inout Set<String>
    ) -> PropertyListValue? {
        // Those inside the value of another path come before or after the edits of that; the others are independent.
        let outermost = outermostPaths(Set(edits.map(\.path)))
        var value = stored
        for (path, edits) in Dictionary(grouping: edits, by: { outermost[$0.path] ?? [] }) {
            let name = EntryName(own: key, path: path)
            let runs = runs(of: edits, at: path)
            let found = name.leaf(value)
            // Edits before a value that is stored are stored, too.
            let first = runs.lastIndex { $0.isWhole && contains($0.edits, found) } ?? 0
            for run in runs[first...] {
                guard run.isWhole else {
                    value = result(of: run.edits, over: value, key, &lost)
                    continue
                }
                do throws(StorageError) {
                    guard contains(run.edits, name.leaf(value)) else { throw .conflict(file: "", keys: [name.text]) }
                    value = try name.replacing(run.edits.last?.value, in: value)
                } catch {
                    // Also if another writer has stored something else than a dictionary.
                    lost.insert(name.text)
                }
            }
        }
        return value
    }

    /// Whether a value is in the last unbroken part of a chain.
    private func contains(_ edits: [LoggedEdit], _ stored: PropertyListValue?) -> Bool {
        let stored = stored.fingerprint
        var expected: UInt64?
        for edit in edits.reversed() {
            let made = edit.value.fingerprint
            if let expected, expected != made { return false }
            if stored == made || stored == edit.over { return true }
            if let value = edit.value, PropertyListValue?.some(value.rounded(for: .xml)).fingerprint == stored { return true }
            expected = edit.over
        }
        return false
    }
}
