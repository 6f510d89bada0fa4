import PropertyListCoding
import Synchronization

extension KeyGroup {
    /// The rules of this group, and of nested ones that are stored properties.
    func rules(_ naming: KeyNaming, in cache: EntryCache) -> [any ValueRule] {
        let own = GroupRule(KeyTable(self, naming: naming, in: cache, isChecked: false))
        return Mirror(reflecting: self).children.reduce(into: own.map { [$0] } ?? []) { rules, child in
            if let group = child.value as? any KeyGroup { rules += group.rules(naming.inside(group.prefix), in: cache) }
        }
    }
}

/// The rule of a group for values that depend on each other, and the last values that were valid.
final class GroupRule<Keys: KeyGroup>: ValueRule {
    let keyNames: Set<String>
    let entryNames: Set<String>
    /// The keys without the rule, which would retain this object.
    private let table: KeyTable<Keys>
    // Of the group's entries, and of those that the rule has read.
    private let state: Lock<(lastValid: StoreSnapshot, reported: StorageError?)>

    /// Creates the rule of a group; nil if the group has none.
    init?(_ table: KeyTable<Keys>) {
        let cache = table.cache
        let defaults = StoreSnapshot(EntryValues(revision: 0, values: [:]), cache.update { $0.layers.withoutOverrides }, of: cache)
        let reads = SnapshotReads()
        do throws(StorageError) {
            try table.check(defaults.collecting(in: reads))
        } catch {
            // The rule exists, and rejects the defaults, which are used nevertheless.
        }
        if table.calledDefaultRule.load(ordering: .relaxed) { return nil }
        self.table = table
        keyNames = Set(table.storageKeys.map(\.entryName.text))
        entryNames = Set(table.storageKeys.flatMap(\.entryName.all))
        state = Lock((defaults.only(entryNames, and: reads), nil))
        _ = valid(StoreSnapshot(of: cache))
    }

    var cache: UInt64 { table.cache.id }

    func check(_ values: EntryValues, _ layers: ValueLayers) throws(StorageError) -> @Sendable () -> Void {
        let next = StoreSnapshot(values, layers, of: table.cache)
        // Other processes, without the overrides, have to find valid values.
        var valid = try validPart(of: next.withoutOverrides)
        do throws(StorageError) {
            if !next.overrides.isEmpty { valid = try validPart(of: next) }
        } catch {
            // Valid only without the overrides.
            return {}
        }
        return { [valid] in self.keepLastValid(valid) }
    }

    /// The snapshot if its values are valid, or else with the last ones that were; reports an error once.
    func valid(_ snapshot: StoreSnapshot) -> StoreSnapshot {
        do throws(StorageError) {
            keepLastValid(try validPart(of: snapshot))
            return snapshot
        } catch {
            let (lastValid, isNew) = state.withLock { state in
                defer { state.reported = error }
                return (state.lastValid, state.reported != error)
            }
            if isNew { table.cache.reports.report(error) }
            return snapshot.replaced(by: lastValid, because: error)
        }
    }

    // What was read decides whether the values are valid, and is all that has to be retained: otherwise, a set would copy all entries.
    private func validPart(of snapshot: StoreSnapshot) throws(StorageError) -> StoreSnapshot {
        let reads = SnapshotReads(inside: snapshot.reads)
        try table.check(snapshot.collecting(in: reads))
        return snapshot.only(entryNames, and: reads)
    }

    private func keepLastValid(_ snapshot: StoreSnapshot) {
        state.take { state -> StoreSnapshot? in
            guard state.lastValid.revision <= snapshot.revision else { return nil }
            state.reported = nil
            defer { state.lastValid = snapshot }
            return state.lastValid
        }
    }
}
