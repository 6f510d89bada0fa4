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
    private let state: Lock<(lastValid: StoreSnapshot, reported: StorageError?)>

    /// Creates the rule of a group; nil if the group has none.
    init?(_ table: KeyTable<Keys>) {
        let cache = table.cache
        let defaults = StoreSnapshot(EntryValues(revision: 0, values: [:]), cache.update { $0.layers.withoutOverrides }, of: cache)
        do throws(StorageError) {
            try table.check(defaults)
        } catch {
            // The rule exists, and rejects the defaults, which are used nevertheless.
        }
        if table.calledDefaultRule.load(ordering: .relaxed) { return nil }
        self.table = table
        keyNames = Set(table.storageKeys.map(\.entryName.text))
        entryNames = Set(table.storageKeys.flatMap(\.entryName.all))
        state = Lock((defaults, nil))
        _ = valid(StoreSnapshot(of: cache))
    }

    var cache: UInt64 { table.cache.id }

    func check(_ values: EntryValues, _ layers: ValueLayers) throws(StorageError) -> @Sendable () -> Void {
        let next = StoreSnapshot(values, layers, of: table.cache)
        // Other processes, without the overrides, have to find valid values.
        try table.check(next.withoutOverrides)
        do throws(StorageError) {
            if !next.overrides.isEmpty { try table.check(next) }
        } catch {
            // Valid only without the overrides.
            return {}
        }
        return { self.keepLastValid(next) }
    }

    /// The snapshot if its values are valid, or else the last one whose values were; reports an error once.
    func valid(_ snapshot: StoreSnapshot) -> StoreSnapshot {
        do throws(StorageError) {
            try table.check(snapshot)
            keepLastValid(snapshot)
            return snapshot
        } catch {
            let (lastValid, isNew) = state.withLock { state in
                defer { state.reported = error }
                return (state.lastValid, state.reported != error)
            }
            if isNew { table.cache.reports.report(error) }
            return lastValid.replacing(error)
        }
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
