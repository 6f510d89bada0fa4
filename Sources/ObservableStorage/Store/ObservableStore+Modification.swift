import PropertyListCoding

extension ObservableStore {
    /// Changes a key's value in one step, whatever other threads do; see ``update(_:)`` for other processes.
    ///
    /// The closure runs again if another thread was faster, on its value; only the last run counts.
    ///
    /// - Returns: what the closure returns.
    /// - Throws: what the closure throws, and nothing changes; ``StorageError`` when the value cannot be stored, or what is stored is not a
    ///   value of the key's type, which is kept then.
    @discardableResult
    public nonisolated func modify<Value, Result>(
        _ key: StorageKey<Value>, _ body: (inout Value) throws -> Result
    ) throws -> Result {
        while true {
            let (found, failure, _, entry) = readValue(of: key)
            if let failure { throw failure }
            var value = found
            let result = try body(&value)
            let stored = try storable(value, for: key)
            let isDone = try edit(of: key.name, origin: .local) { state in
                guard state.entry(key.body.entryName) == entry else { return nil }
                return key.edits(storing: stored) { state.stored($0) }
            }
            if isDone { return result }
        }
    }

    /// Moves an entry to its present name and shape, or writes the default, as the key asks for.
    nonisolated func keepUp<Value>(_ key: StorageKey<Value>) {
        // Of a storage that could not be opened nobody knows what is stored there.
        guard key.body.needsUpkeep, availabilityState.isOpened else { return }
        if let shared = key.shared { keepUp(shared) }
        do {
            while true {
                let names = key.upkeepNames
                let (stored, watch, changes) = memory.update { state in
                    let watch = state.madeWatch(key.name)
                    return (names.reduce(into: [String: PropertyListValue]()) { $0[$1] = state.stored($1) }, watch, watch.changes)
                }
                let upkeep = key.upkeep(stored, in: watch, at: changes)?.storable(in: backend, memory, reports)
                guard let upkeep else { return }
                let expected = names.reduce(into: MemoryState.Edits()) { $0.updateValue(stored[$1], forKey: $1) }
                let isDone = try edit(of: key.name, origin: upkeep.origin, condition: expected) { state in
                    state.isCurrent(expected) ? upkeep.edits : nil
                }
                if isDone { return }
            }
        } catch {
            // A closed store keeps what it has; reading gives the value all the same.
        }
    }

    /// Makes edits that depend on what is there; does nothing and returns false where there are none to be made of it.
    private nonisolated func edit(
        of principal: String, origin: ChangeOrigin, condition: MemoryState.Edits = [:], _ makeEdits: (MemoryState) -> MemoryState.Edits?
    ) throws(StorageError) -> Bool {
        var isDone = false
        try tell { (state) throws(StorageError) in
            guard let edits = makeEdits(state) else { return [] }
            isDone = true
            return try state.edit(edits, of: principal, origin: origin, condition: condition)
        }
        return isDone
    }
}
