import PropertyListCoding

extension StorageKey {
    /// The same key, which also reads an earlier type of its value.
    ///
    /// Reading converts a value stored in the earlier type, and stores nothing: an earlier version of the program still finds it, until the
    /// key is set, or until ``ObservableStore/migrateValue(of:)``. Declare several of them from the newest type to the oldest;
    /// they are tried in that order.
    ///
    /// - Parameters:
    ///   - type: the earlier type.
    ///   - transform: converts an earlier value; reading throws its error. The result is cached until the stored value changes.
    public func migrating<Old: Storable>(
        from type: Old.Type = Old.self, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        migrating(from: type, codec: .native, transform)
    }

    /// The same key, which also reads an earlier type of its value that was stored with a codec; see ``migrating(from:_:)``.
    public func migrating<Old>(
        from type: Old.Type = Old.self, codec: StorageCodec<Old>, _ transform: @escaping @Sendable (Old) throws -> Value
    ) -> StorageKey {
        with { traits in
            traits.migrations.append { stored in
                let old: Old
                do {
                    old = try codec.decode(stored)
                } catch {
                    return nil
                }
                return try transform(old)
            }
        }
    }

    /// The same key, whose entry had another name earlier.
    ///
    /// The value under the earlier name is the key's value while the present name has none: reading and observing use it, `isSet` is true.
    /// Reading stores nothing: an earlier version of the program still finds the value until the key is set or removed, which removes the
    /// entry of the earlier name, or until ``ObservableStore/migrateValue(of:)``. A value that an earlier version stores there afterwards is
    /// not used, but reported once in ``ObservableStore/failures`` (``StorageError/superseded(key:earlierName:)``). Mandatory and default
    /// values count under the earlier name as well. Declare several of them from the newest name to the oldest.
    ///
    /// - Parameters:
    ///   - name: the earlier name.
    ///   - keepingOld: whether setting the key stores the value under the earlier name as well, in its present type, for users who run an
    ///     earlier version of the program beside this one, or go back to it.
    public func renamed(from name: String, keepingOld: Bool = false) -> StorageKey {
        with { traits in
            guard name != traits.entryName.own, !traits.entryName.earlier.contains(name) else { return }
            traits.entryName.earlier.append(name)
            if keepingOld { traits.entryName.kept.insert(name) }
        }
    }
}

extension StorageKey {
    /// The values that are set or removed when the key's value is, including the entries of earlier names, which would supply a value again:
    /// they keep it as well, or are removed.
    func leaves(storing stored: PropertyListValue?) -> [(name: EntryName, value: PropertyListValue?)] {
        let name = definition.entryName
        var leaves = [(EntryName(own: name.own, path: name.path), stored)]
        for earlier in name.earlier { leaves.append((EntryName(own: earlier), name.kept.contains(earlier) ? stored : nil)) }
        if let stored, definition.traits.writesThrough, let fallback {
            leaves += fallback.leaves(storing: stored == definition.traits.storedNil ? nil : stored)
        }
        return leaves
    }

    /// The edits that store or remove a value; see ``leaves(storing:)``.
    func edits(
        storing stored: PropertyListValue?, over current: (String) -> PropertyListValue?
    ) throws(StorageError) -> EntryEdits {
        var edits: EntryEdits = [:]
        for (name, value) in leaves(storing: stored) {
            edits.updateValue(name.path.isEmpty ? value : try name.replacing(value, in: current(name.own)), forKey: name.own)
        }
        return edits
    }

    /// The stored form of the default, if reading the key has to store it; nil otherwise, and if it cannot be stored, which setting reports.
    ///
    /// - Parameter entry: the key's own entry, which caches the decoded value; see ``decoded(_:in:)``.
    func defaultToStore(in entry: EntryVersion? = nil, _ stored: (String) -> PropertyListValue?) -> PropertyListValue? {
        let name = definition.entryName
        let location = name.location(stored)
        if let present = location.leaf(stored(location.own)) {
            guard persistsDefault == .onFailure || persistsDefault == .always else { return nil }
            do throws(StorageError) {
                _ = try decoded(present, in: location.own == name.own ? entry : nil)
                return nil
            } catch {
                // Replaced by the default.
            }
        } else if persistsDefault != .whenMissing, persistsDefault != .always {
            return nil
        }
        return storedForm(of: defaultValue)
    }

    /// The paths of the edits above that concern one value in the dictionary of an entry.
    var editedPaths: EditedPaths {
        let name = definition.entryName
        guard !name.path.isEmpty else { return [:] }
        let names = [name.own, definition.traits.writesThrough ? name.fallback : nil]
        return names.reduce(into: [:]) { if let edited = $1 { $0[edited] = [name.path] } }
    }
}
