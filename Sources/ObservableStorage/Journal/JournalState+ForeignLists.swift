import PropertyListCoding

// Lists that another program has put in place.
extension JournalState {
    /// The edits of the commits that still apply to a list that another program has put in place, by key: those of values that the program
    /// has left as they were in the last list, or in one that was announced since. A value inside a dictionary that was edited by itself is
    /// compared by itself.
    func remaining(over stored: (String) -> PropertyListValue?) -> [String: StorageCommit.Edit] {
        var results: [String: Result] = [:]
        var (visited, announced): (Set<String>, ArraySlice) = ([], lists.dropFirst())
        let overrides = lists.first.map { JournalCommit(revision: $0.revision, edits: $0.overrides) }
        for commit in (overrides.map { [$0] } ?? []) + Array(commits) {
            while let next = announced.first, next.revision < commit.revision {
                announced.removeFirst()
                visited = []
            }
            for (key, edit) in commit.edits {
                var result = results[key] ?? Result(paths: edit.paths)
                if visited.insert(key).inserted { result.old.append(edit.oldValue) }
                result.value = edit.newValue
                // An edit of the whole entry includes all paths.
                result.paths = edit.paths.isEmpty || result.paths.isEmpty ? [] : result.paths.union(edit.paths)
                results[key] = result
            }
        }
        var edits: [String: StorageCommit.Edit] = [:]
        for (key, result) in results {
            let value = stored(key)
            let merged = result.merged(over: value, EntryName(own: key))
            if value != merged { edits[key] = StorageCommit.Edit(from: value, to: merged, at: result.paths) }
        }
        return edits
    }

    /// An entry as the commits have edited it.
    private struct Result {
        /// The values that it had in the lists.
        var old: [PropertyListValue?] = []
        var value: PropertyListValue?
        /// The paths of the edited values; none if all of the entry was edited.
        var paths: Set<[String]>

        /// The value of the entry in a list of another program after the edits.
        func merged(over stored: PropertyListValue?, _ name: EntryName) -> PropertyListValue? {
            if isOld(stored, at: name) { return value }
            var merged = stored
            for path in Set(outermostPaths(paths).values) {
                let leaf = EntryName(own: name.own, path: path)
                guard isOld(stored, at: leaf) else { continue }
                do throws(StorageError) {
                    try leaf.replace(leaf.leaf(value), in: &merged)
                } catch {
                    // The other program has anything but a dictionary there.
                }
            }
            return merged
        }

        /// Whether a value is one that was in a list. Another program may have converted the list to XML, which rounds dates.
        private func isOld(_ stored: PropertyListValue?, at name: EntryName) -> Bool {
            let found = name.leaf(stored)
            return old.lazy.map(name.leaf).contains { $0 == found || $0?.rounded(for: .xml) == found }
        }
    }
}

extension StorageEntries {
    /// The edits that turn these entries into others.
    ///
    /// - Parameter paths: the paths of the edited values inside entries that are edited in part.
    func edits(to other: StorageEntries, at paths: [String: Set<[String]>] = [:]) -> [String: StorageCommit.Edit] {
        var edits: [String: StorageCommit.Edit] = [:]
        for (key, value) in other.changes(since: self) { edits[key] = StorageCommit.Edit(from: self[key], to: value, at: paths[key] ?? []) }
        return edits
    }
}
