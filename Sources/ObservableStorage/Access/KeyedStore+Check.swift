import PropertyListCoding

extension KeyedStore {
    /// Checks everything that is stored for the group. Call it when the program starts: later, the last valid value replaces an invalid one.
    ///
    /// The value of each key must be decodable, including that of an override; the values of the group, and of each nested group, must be valid
    /// together; and each stored name must be that of a key. Names outside the prefix of the group, and those of scenes and of this library's own
    /// entries, are not checked. The names inside a dictionary are checked if keys have single values of it.
    ///
    /// ```swift
    /// let store = try ObservableStore(at: url, overrides: [.arguments(), .environment(prefix: "APP")])
    /// let settings = try KeyedStore<AppKeys>(store).check()
    /// ```
    ///
    /// Values are checked as they are in effect: those of overrides together with the stored ones that they do not hide.
    ///
    /// - Parameter isAllowed: whether to accept a name that no stored property of the group has, such as that of a computed key or of
    ///   another group; see ``StorageKey/name`` for one inside a dictionary.
    /// - Returns: the same access to the store.
    /// - Throws: the ``StorageError`` that was found, or ``StorageError/several(_:)``. That of an override names the argument or variable,
    ///   the key, its type, and what would fit.
    @discardableResult
    public func check(allowing isAllowed: (String) -> Bool = { _ in false }) throws(StorageError) -> KeyedStore {
        try table.checkAll(in: store.snapshot.unreported, allowing: isAllowed)
        return self
    }
}

extension StoreSnapshot {
    /// The values of a group, after a check of everything that is stored for it; see ``KeyedStore/check(allowing:)``.
    ///
    /// - Parameters:
    ///   - keys: the type of the group.
    ///   - prefix: the prefix of every name, followed by a `/`.
    ///   - isAllowed: whether to accept a name that no stored property of the group has: `{ _ in true }` for a file of several programs.
    ///   - transform: transforms each key's name.
    /// - Throws: the ``StorageError`` that was found, or ``StorageError/several(_:)``.
    public func checked<Keys: KeyGroup>(
        as keys: Keys.Type = Keys.self, prefix: String? = nil, allowing isAllowed: (String) -> Bool = { _ in false },
        naming transform: (@Sendable (String) -> String)? = nil
    ) throws(StorageError) -> KeyedSnapshot<Keys> {
        let snapshot = unreported
        let (keys, naming) = (Keys(), KeyNaming(prefix: prefix, transform: transform))
        // Without the rule, which replaces invalid values: they are errors here.
        let table = KeyTable(keys, naming: naming.inside(keys.prefix), in: cache, isChecked: false)
        try table.checkAll(in: snapshot, allowing: isAllowed)
        return KeyedSnapshot(snapshot, table)
    }

    /// Why the value of a key cannot be decoded; nil if it can.
    fileprivate func failure(of key: some AnyStorageKey) -> StorageError? {
        do {
            _ = try value(for: key.storageKey)
            return nil
        } catch {
            return error
        }
    }
}

extension KeyGroup {
    /// The errors of the rules of this group and of nested ones.
    fileprivate func failures(of snapshot: StoreSnapshot, _ naming: KeyNaming) -> [StorageError] {
        let table = KeyTable(self, naming: naming, in: snapshot.cache, isChecked: false)
        var failures: [StorageError] = []
        do throws(StorageError) {
            try table.check(snapshot)
        } catch {
            failures.append(error)
        }
        return Mirror(reflecting: self).children.reduce(into: failures) { failures, child in
            guard let group = child.value as? any KeyGroup else { return }
            failures += group.failures(of: snapshot, naming.inside(group.prefix))
        }
    }
}

extension KeyGroup {
    /// The errors of keys in stored properties of this group and of nested ones that are named by `#function`, which is the type's name there.
    fileprivate var namesOfTypes: [StorageError] {
        let type = "\(Self.self)".prefix { $0 != "<" }
        return Mirror(reflecting: self).children.flatMap { child -> [StorageError] in
            switch child.value {
            case let key as any AnyStorageKey where key.isNamedByFunction && key.entryName.own == type:
                let property = child.label ?? "name"
                return [
                    .invalidConfiguration(
                        item: "the key \(type).\(property)", reason: "without a name it has that of the type, as it is a stored property",
                        remedy: "make it a computed property, or pass the name: StorageKey(\"\(property)\", default: …)")
                ]
            case let group as any KeyGroup: return group.namesOfTypes
            default: return []
            }
        }
    }
}

extension KeyedStore {
    /// The arguments, variables and texts of the store's overrides that belong to no key of the group, as they are given: misspelt ones, or
    /// those of other parts of the program.
    ///
    /// Only keys that are stored properties of the group or of a nested group count. Of the environment, these are the variables that begin
    /// with the prefix.
    public var unknownOverrides: [String] {
        store.snapshot.overrides.flatMap { $0.unknownNames(besides: table.storageKeys.map(\.entryName)) }
    }

    /// The arguments of the store's overrides that no key of the group has taken, in order, for a parser of the program's own; a `--` and
    /// what follows it are among them. Empty for a store without ``OverrideSource/arguments(_:)``.
    public var remainingArguments: [String] {
        for source in store.snapshot.overrides {
            guard case .arguments(let arguments) = source.content else { continue }
            return arguments.remaining(besides: table.storageKeys.map(\.entryName))
        }
        return []
    }
}

extension KeyTable {
    fileprivate func checkAll(in snapshot: StoreSnapshot, allowing isAllowed: (String) -> Bool) throws(StorageError) {
        let failures =
            invalidNames + sharedOverrides(in: snapshot.overrides) + storageKeys.compactMap { snapshot.failure(of: $0) }
            + keys.failures(of: snapshot, naming) + unknownNames(in: snapshot, allowing: isAllowed)
        guard let first = failures.first else { return }
        throw failures.count == 1 ? first : .several(failures)
    }

    /// The names of overrides that several keys have.
    fileprivate func sharedOverrides(in sources: [OverrideSource]) -> [StorageError] {
        sources.flatMap { source in
            var owners: [String: EntryName] = [:]
            return storageKeys.map(\.entryName).flatMap { key in
                source.names(of: key).compactMap { name -> StorageError? in
                    guard let other = owners.updateValue(key, forKey: name), other.text != key.text else { return nil }
                    return .invalidOverride(
                        name: name, key: key.text, reason: "the key \"\(other.text)\" has the same name; see StorageKey.override")
                }
            }
        }
    }

    /// The names that several keys have, or that are those of types, or of values of scenes.
    var invalidNames: [StorageError] {
        var names: Set<[String]> = []
        let repeated = storageKeys.map(\.entryName).filter { !names.insert([$0.own] + $0.path).inserted }
        let ofScenes = storageKeys.compactMap { key in
            key.foreignSceneID.map {
                StorageError.invalidConfiguration(
                    item: "the key \"\(key.entryName.text)\"",
                    reason: "its name is that of a value of the scene \"\($0)\", with which it is removed",
                    remedy: "give it, or its group, a name that does not begin with \(KeyScope.folder)/")
            }
        }
        return repeated.map { .repeatedName(key: $0.text, group: String(describing: Keys.self)) } + keys.namesOfTypes + ofScenes
    }

    fileprivate func unknownNames(in snapshot: StoreSnapshot, allowing isAllowed: (String) -> Bool) -> [StorageError] {
        // The paths of the keys inside each entry.
        let paths = storageKeys.map(\.entryName).reduce(into: [String: Set<[String]>]()) { paths, name in
            paths[name.own, default: []].insert(name.path)
            for earlier in name.earlier { paths[earlier, default: []].insert([]) }
        }
        return snapshot.entries.sorted { $0.key < $1.key }.flatMap { name, value in
            guard naming.contains(name), !name.hasPrefix(EntryName.reservedPrefix) else { return [StorageError]() }
            return failures(of: value, EntryName(own: name), in: paths[name] ?? [], allowing: isAllowed)
        }
    }

    // Of the keys, and of the dictionaries in which they are.
    private var names: [String] {
        storageKeys.map(\.entryName).flatMap { name in
            (0...name.path.count).map { EntryName(own: name.own, path: Array(name.path.prefix($0))).text }
        }
    }

    private func failures(
        of value: PropertyListValue, _ name: EntryName, in paths: Set<[String]>, allowing isAllowed: (String) -> Bool
    ) -> [StorageError] {
        if paths.contains(name.path) || isAllowed(name.text) { return [] }
        guard paths.contains(where: { $0.starts(with: name.path) }) else {
            return [.unknownName(key: name.text, group: String(describing: Keys.self), nearest: name.text.nearest(among: names))]
        }
        guard case .dictionary(let inner) = value else {
            return [.undecodable(key: name.text, expected: "dictionary", found: value.typeName)]
        }
        return inner.sorted { $0.key < $1.key }.flatMap { step, value in
            failures(of: value, EntryName(own: name.own, path: name.path + [step]), in: paths, allowing: isAllowed)
        }
    }
}
