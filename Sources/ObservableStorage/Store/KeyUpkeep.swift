import PropertyListCoding

/// What reading a key has to change about what is stored: a new name, a new shape, a default that is to be kept.
struct KeyUpkeep: Sendable {
    let edits: MemoryState.Edits
    let origin: ChangeOrigin
}

extension KeyUpkeep {
    /// The same with what will be read once it is stored; nothing if that cannot be, which is reported once.
    func storable(in backend: any StorageBackend, _ memory: Memory, _ reports: FailureReports) -> KeyUpkeep? {
        var storable = edits
        for case (let name, let value?) in edits {
            do throws(StorageError) {
                if memory.update({ $0.isRefused(value, of: name) }) { return nil }
                storable[name] = .some(try backend.storable(value, for: name))
            } catch {
                if memory.update({ $0.noteRefused(value, of: name) }) { reports.report(error) }
                return nil
            }
        }
        return KeyUpkeep(edits: storable, origin: origin)
    }
}

extension StorageKey {
    /// The entries that have to be looked at for that.
    var upkeepNames: [String] {
        [name] + body.traits.earlierNames
    }

    /// What reading has to change, given what is stored under the names above.
    ///
    /// - Parameters:
    ///   - watch: that of the entry, which keeps what was decoded; see ``decoded(_:in:at:)``.
    ///   - changes: how often the entry had changed.
    func upkeep(_ stored: [String: PropertyListValue], in watch: EntryWatch? = nil, at changes: UInt64 = 0) -> KeyUpkeep? {
        guard let current = stored[name] else {
            if let earlier = body.traits.earlierNames.first(where: { stored[$0] != nil }), let value = stored[earlier] {
                return KeyUpkeep(edits: [name: .some(reshaped(value) ?? value), earlier: PropertyListValue?.none], origin: .migration)
            }
            return persistsDefault.contains(.whenMissing) ? defaultUpkeep : nil
        }
        guard !isCurrent(current, in: watch, at: changes) else { return nil }
        if let value = reshaped(current) { return KeyUpkeep(edits: [name: .some(value)], origin: .migration) }
        return persistsDefault.contains(.onFailure) ? defaultUpkeep : nil
    }

    /// An earlier shape in the present one.
    private func reshaped(_ stored: PropertyListValue) -> PropertyListValue? {
        guard !isCurrent(stored), let value = migrated(stored) else { return nil }
        return storedOrNil(value)
    }

    private var defaultUpkeep: KeyUpkeep? {
        storedOrNil(defaultValue).map { KeyUpkeep(edits: [name: .some($0)], origin: .local) }
    }

    private func storedOrNil(_ value: Value) -> PropertyListValue? {
        do {
            return try stored(value)
        } catch {
            // What cannot be written stays as it is; whoever sets it is told.
            return nil
        }
    }
}
