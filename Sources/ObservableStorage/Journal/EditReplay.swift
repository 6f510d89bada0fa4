import PropertyListCoding

/// Determines the stored entries after the edits of a dead store are replayed.
///
/// The edits of a key form a chain of values, each of which replaces the one before. If the stored value is in the chain, no other writer has
/// changed it since, and the last value of the chain is the result; otherwise the stored value wins. A value inside a dictionary that was
/// edited by itself has a chain of its own. Values may have been rounded, if the list is or was XML.
///
/// Edits of one closure are replayed all or none: if a stored value wins over one of them, or one cannot be stored, all are dropped, and so
/// are the edits that were made over them.
struct EditReplay {
    /// The values that differ from the stored ones.
    private(set) var changes: EntryEdits = [:]
    /// The reasons why values cannot be stored, by their keys.
    private(set) var rejections: [String: StorageError] = [:]
    /// The keys whose stored values win, sorted.
    var conflicts: [String] { lost.sorted() }

    private let isMissingUnknown: Bool
    private var lost: Set<String> = []
    // The sequences of the edits over which a stored value wins, or that cannot be stored.
    private var lostSequences: Set<UInt64> = []
    // The sequences of the edits that are dropped together with others of their closure.
    private var refused: Set<UInt64> = []

    /// - Parameters:
    ///   - edits: the edits of one log, in their order.
    ///   - isMissingUnknown: whether values that are missing may have been any, because their list was malformed.
    ///   - rejection: the reason why the value of a key cannot be stored; nil if it can.
    init(
        _ edits: [LoggedEdit], isMissingUnknown: Bool = false, over stored: (String) -> PropertyListValue?,
        rejecting rejection: (String, PropertyListValue) -> StorageError? = { _, _ in nil }
    ) {
        self.isMissingUnknown = isMissingUnknown
        let edits = Dictionary(grouping: edits, by: \.key)
        // After the edits of one closure are dropped, those of a later one may be based on a value that does not exist.
        repeat {
            refused = lostSequences
            replay(edits, over: stored)
            for case (let key, let value?) in changes {
                guard let reason = rejection(key, value) else { continue }
                rejections[key] = reason
                changes[key] = nil
                lostSequences.formUnion(edits[key, default: []].lazy.filter { !$0.isAlone }.map(\.sequence))
            }
        } while refused != lostSequences
    }

    private mutating func replay(_ edits: [String: [LoggedEdit]], over stored: (String) -> PropertyListValue?) {
        changes = [:]
        for (key, edits) in edits {
            let found = stored(key)
            var value = found
            replay(edits, in: &value, key)
            if value != found { changes.updateValue(value, forKey: key) }
        }
    }

    private func isRefused(_ edit: LoggedEdit) -> Bool {
        !edit.isAlone && refused.contains(edit.sequence)
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

    private mutating func replay(_ edits: [LoggedEdit], in value: inout PropertyListValue?, _ key: String) {
        // The order matters between edits of a value and edits inside it; other paths are independent.
        let outermost = outermostPaths(Set(edits.map(\.path)))
        for (path, edits) in Dictionary(grouping: edits, by: { outermost[$0.path] ?? [] }) {
            let name = EntryName(own: key, path: path)
            let runs = runs(of: edits, at: path)
            let found = name.leaf(value)
            // If a value is stored, so are the edits before it.
            let first = runs.lastIndex { $0.isWhole && rest(of: $0.edits, after: found) != nil } ?? 0
            for run in runs[first...] {
                guard run.isWhole else {
                    replay(run.edits, in: &value, key)
                    continue
                }
                do throws(StorageError) {
                    guard let rest = rest(of: run.edits, after: name.leaf(value)) else {
                        throw .conflict(file: "", keys: [name.text])
                    }
                    if let last = rest.last, isRefused(last) { lost.insert(name.text) }
                    guard let last = rest.last(where: { !isRefused($0) }) else { continue }
                    try name.replace(last.value, in: &value)
                } catch {
                    // Also if another writer has stored anything but a dictionary.
                    lost.insert(name.text)
                    lostSequences.formUnion(run.edits.lazy.filter { !$0.isAlone }.map(\.sequence))
                }
            }
        }
    }

    /// The edits after a value in the last unbroken part of a chain; nil if that part does not contain it.
    private func rest(of edits: [LoggedEdit], after stored: PropertyListValue?) -> ArraySlice<LoggedEdit>? {
        if stored == nil, isMissingUnknown { return edits[...] }
        let stored = stored.fingerprint
        var expected: UInt64?
        for (index, edit) in edits.enumerated().reversed() {
            let result = edit.value.fingerprint
            if let expected, expected != result { return nil }
            if stored == result { return edits[(index + 1)...] }
            if stored == edit.over { return edits[index...] }
            if let value = edit.value, PropertyListValue?.some(value.rounded(for: .xml)).fingerprint == stored {
                return edits[(index + 1)...]
            }
            expected = edit.over
        }
        return nil
    }
}
