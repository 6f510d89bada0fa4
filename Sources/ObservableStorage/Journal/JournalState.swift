import FoundationSubset
import PropertyListCoding

/// What a backend knows of a journal and its property list: the entries, and what the list does not have of them.
struct JournalState: Sendable {
    let file: JournalFile
    /// The end of the last record that was read.
    private(set) var end: Int
    private(set) var chain: UInt64
    /// Whether something that is no whole record is after the last one, by a writer that was interrupted, or because it is damaged.
    private(set) var hasRemainder = false
    /// The revision of the last record.
    private(set) var revision: UInt64
    /// The list in place, as far as the journal tells, and those that were announced since.
    private(set) var lists: [JournaledList] = []
    // In parts: whoever holds an earlier state makes an edit copy the array that is edited.
    private var parts: [[JournalCommit]] = []
    private static let partSize = 64
    /// The entries at the last revision; nil before a list was read.
    private(set) var entries: StorageEntries?

    /// - Parameters:
    ///   - records: all records of the journal.
    ///   - earlier: what was known of the journal that this one continues, or of another one.
    init(_ file: JournalFile, _ records: JournalRecords, after earlier: JournalState?) {
        self.file = file
        (end, chain, revision) = (JournalFormat.Header.size, file.header.chain, file.header.first)
        // Without those that this journal does not tell of, the entries could not be continued.
        if let earlier, file.header.continues(earlier.file.header), earlier.revision >= file.header.first {
            entries = earlier.entries
        }
        take(records)
    }

    /// The commits that the list in place does not have.
    var commits: FlattenSequence<[[JournalCommit]]> { parts.joined() }

    /// The revision of the storage.
    var storageRevision: StorageRevision {
        StorageRevision(history: file.header.historyName, number: revision)
    }

    /// The format of the list in place, or of the one that is about to be; nil if no list was recorded.
    var format: PropertyListFormat? { lists.last?.format }

    /// Whether the list in place lacks something.
    var needsCheckpoint: Bool {
        !commits.isEmpty || lists.first?.overrides.isEmpty == false
    }

    /// What identifies this state to a log of edits: the same words as for a list, but no list has these. Checkpoints do not change it.
    var identity: FileIdentity { identity(in: file.header.history) }

    /// What identifies this state to logs of this run of the system, and to those of the run before, if nothing has changed since.
    var identities: [FileIdentity] { [identity, identity(in: file.header.formerHistory)] }

    private func identity(in history: UInt64) -> FileIdentity {
        FileIdentity(device: 0, inode: history, size: 0, modified: Int64(clamping: revision), changed: 0)
    }

    /// The list of the journal that a file is; nil for a file that another program has put in place.
    func list(_ found: FileIdentity?) -> JournaledList? {
        lists.last { $0.isFile(found) }
    }

    // MARK: Records

    /// Follows records that were read or appended.
    mutating func take(_ records: JournalRecords) {
        var changes: EntryEdits = [:]
        for (_, record) in records.records {
            switch record {
            case .commit(let commit):
                add(commit)
                revision = max(revision, commit.revision)
                if let known = entries?.revision, commit.revision > known.number { commit.apply(to: &changes) }
            case .list(let list):
                lists.append(list)
                revision = max(revision, list.revision)
                if list.isGap, let known = entries?.revision, list.revision > known.number { (entries, changes) = (nil, [:]) }
                if list.isPlaced { place(list) }
            case .placed:
                if let list = lists.last { place(list) }
            }
        }
        (end, chain, hasRemainder) = (records.end, records.chain, records.hasRemainder)
        if let known = entries, known.revision != storageRevision {
            entries = changes.isEmpty ? known.stored(at: storageRevision) : StorageEntries(known, with: changes, revision: storageRevision)
        }
    }

    private mutating func add(_ commit: JournalCommit) {
        if let last = parts.last, last.count < Self.partSize {
            parts[parts.count - 1].append(commit)
        } else {
            parts.append([commit])
        }
    }

    private mutating func place(_ list: JournaledList) {
        lists = [list]
        parts = parts.map { $0.filter { $0.revision > list.revision } }.filter { !$0.isEmpty }
    }

    /// The differences since a revision; nil if they are not known.
    func changes(since earlier: StorageRevision) -> StorageChanges? {
        guard earlier.history == storageRevision.history, earlier.number <= revision else { return nil }
        let later = commits.reversed().prefix { $0.revision > earlier.number }
        guard later.count == revision - earlier.number else { return nil }
        var values: EntryEdits = [:]
        for commit in later.reversed() { commit.apply(to: &values) }
        return StorageChanges(values, since: earlier, revision: storageRevision)
    }

    /// The names of the entries whose values a list need not have.
    func editedKeys(since list: JournaledList) -> Set<String> {
        commits.reduce(into: Set(list.overrides.keys)) { keys, commit in
            if commit.revision > list.revision { keys.formUnion(commit.edits.keys) }
        }
    }

    /// Takes the entries from a list of the journal.
    mutating func load(_ content: StorageEntries, of list: JournaledList) {
        var changes = list.overrides.mapValues(\.newValue)
        for commit in commits where commit.revision > list.revision { commit.apply(to: &changes) }
        entries = StorageEntries(content, with: changes, revision: storageRevision)
    }

    // MARK: Lists of other programs

    /// What remains of the commits over a list that another program has put in place, by the key: that program has not changed what it
    /// has as it was in the last list, or in one that was announced since. The same holds for values inside a dictionary that were
    /// edited by themselves.
    func remaining(over stored: (String) -> PropertyListValue?) -> [String: StorageCommit.Edit] {
        var results: [String: Result] = [:]
        var (seen, announced): (Set<String>, ArraySlice) = ([], lists.dropFirst())
        let overrides = lists.first.map { JournalCommit(revision: $0.revision, edits: $0.overrides) }
        for commit in (overrides.map { [$0] } ?? []) + Array(commits) {
            while let next = announced.first, next.revision < commit.revision {
                announced.removeFirst()
                seen = []
            }
            for (key, edit) in commit.edits {
                var result = results[key] ?? Result(paths: edit.paths)
                if seen.insert(key).inserted { result.old.append(edit.oldValue) }
                result.value = edit.newValue
                // With an edit of the whole entry, all of them are.
                result.paths = edit.paths.isEmpty || result.paths.isEmpty ? [] : result.paths.union(edit.paths)
                results[key] = result
            }
        }
        var edits: [String: StorageCommit.Edit] = [:]
        for (key, result) in results {
            let value = stored(key)
            let made = result.made(over: value, EntryName(own: key))
            if value != made { edits[key] = StorageCommit.Edit(from: value, to: made, at: result.paths) }
        }
        return edits
    }

    /// What the commits have made of an entry.
    private struct Result {
        /// The values that it had in the lists.
        var old: [PropertyListValue?] = []
        var value: PropertyListValue?
        /// The paths of the edited values; none if all of the entry was edited.
        var paths: Set<[String]>

        /// The value of the entry in a list of another program after the edits.
        func made(over stored: PropertyListValue?, _ name: EntryName) -> PropertyListValue? {
            if isOld(stored, at: name) { return value }
            var made = stored
            for path in Set(outermostPaths(paths).values) {
                let leaf = EntryName(own: name.own, path: path)
                guard isOld(stored, at: leaf) else { continue }
                do throws(StorageError) {
                    try leaf.replace(leaf.leaf(value), in: &made)
                } catch {
                    // The other program has something else than a dictionary there.
                }
            }
            return made
        }

        /// Whether a value is one that was in a list. Another program may have converted the list to XML, which rounds dates.
        private func isOld(_ stored: PropertyListValue?, at name: EntryName) -> Bool {
            let found = name.leaf(stored)
            return old.lazy.map(name.leaf).contains { $0 == found || $0?.rounded(for: .xml) == found }
        }
    }
}

extension StorageEntries {
    /// The edits that make other entries of these.
    ///
    /// - Parameter paths: the paths of the edited values inside entries of which not all is edited.
    func edits(to other: StorageEntries, at paths: [String: Set<[String]>] = [:]) -> [String: StorageCommit.Edit] {
        var edits: [String: StorageCommit.Edit] = [:]
        for (key, value) in other.changes(since: self) { edits[key] = StorageCommit.Edit(from: self[key], to: value, at: paths[key] ?? []) }
        return edits
    }
}
