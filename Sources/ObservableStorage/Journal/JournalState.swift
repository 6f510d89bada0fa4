import FoundationSubset
import PropertyListCoding

/// What a backend knows of a journal and its property list: the entries, and the commits that the list lacks.
struct JournalState: Sendable {
    let file: JournalFile
    /// The end of the last record that was read.
    private(set) var end: Int
    private(set) var chain: UInt64
    /// Whether an incomplete record follows the last one, because its writer was interrupted, or the file is damaged.
    private(set) var hasRemainder = false
    /// The revision of the last record.
    private(set) var revision: UInt64
    /// The list in place according to the journal, and those that were announced since.
    private(set) var lists: [JournaledList] = []
    // In parts, because appending copies the array if an earlier state is still in use.
    private var parts: [[JournalCommit]] = []
    private static let partSize = 64
    /// The offset of the record of the last list, and that of the one last put in place, which was announced after all before it was durable.
    private var (listOffset, durableEnd) = (0, 0)
    /// The entries at the last revision; nil before a list was read.
    private(set) var entries: StorageEntries?
    /// The identity of the list in place when it was last looked at.
    var found: FileIdentity?

    /// - Parameters:
    ///   - records: all records of the journal.
    ///   - earlier: what was known of the journal that this one continues, or of another one.
    init(_ file: JournalFile, _ records: JournalRecords, after earlier: JournalState?) {
        self.file = file
        (end, chain, revision) = (JournalHeader.size, file.header.chain, file.header.first)
        // Only if this journal has every commit since then.
        if let earlier, file.header.continues(earlier.file.header), earlier.revision >= file.header.first {
            entries = earlier.entries
        }
        found = earlier?.found
        take(records)
    }

    /// The commits that the list in place lacks.
    var commits: FlattenSequence<[[JournalCommit]]> { parts.joined() }

    var storageRevision: StorageRevision {
        StorageRevision(history: file.header.historyName, number: revision)
    }

    /// The format of the list in place, or of the one that is about to be; nil if no list was recorded.
    var format: PropertyListFormat? { lists.last?.format }

    /// Whether the list in place lacks edits.
    var needsCheckpoint: Bool {
        !commits.isEmpty || lists.first?.overrides.isEmpty == false
    }

    /// The identity of this state for the header of an edit log, which no list has. Checkpoints do not change it.
    var identity: FileIdentity { identity(in: file.header.history) }

    /// The identities of this state in logs of this run of the system, and of the run before, if nothing has changed since.
    var identities: [FileIdentity] { [identity, identity(in: file.header.formerHistory)] }

    private func identity(in history: UInt64) -> FileIdentity {
        FileIdentity(device: 0, inode: history, size: 0, modified: Int64(clamping: revision), changed: 0)
    }

    /// The recorded list that has the identity of a file; nil if another program has put that file in place.
    func list(_ found: FileIdentity?) -> JournaledList? {
        lists.last { $0.isFile(found) }
    }

    /// Whether a recorded list may have been overwritten since it was last looked at: a program can set all of what is recorded of its
    /// identity, but not the time of the last change of its status.
    func mayBeOverwritten(_ list: FileIdentity?) -> Bool {
        guard let list, let found else { return false }
        return list.hasSameContent(as: found) && list.changed != found.changed
    }

    /// This state, with which the list that was found may have been overwritten.
    func doubtingList() -> JournalState {
        var state = self
        state.found = found.map {
            FileIdentity(device: $0.device, inode: $0.inode, size: $0.size, modified: $0.modified, changed: .min)
        }
        return state
    }

    // MARK: Records

    /// Applies records that were read or appended.
    mutating func take(_ records: JournalRecords) {
        var (changes, known) = (EntryEdits(), entries?.revision?.number)
        for (offset, record) in records.records {
            switch record {
            case .commit(let commit):
                revision = max(revision, commit.revision)
                add(commit)
                if let known, commit.revision > known { commit.apply(to: &changes) }
            case .list(let list):
                lists.append(list)
                listOffset = offset
                revision = max(revision, list.revision)
                if list.isGap, let last = known, list.revision > last { (entries, changes, known) = (nil, [:], nil) }
                if list.isPlaced { setBase(list) }
            case .placed:
                if let list = lists.last { setBase(list) }
                durableEnd = listOffset
            }
        }
        (end, chain, hasRemainder) = (records.end, records.chain, records.hasRemainder)
        let current = storageRevision
        if let known = entries, known.revision != current {
            entries = changes.isEmpty ? known.stored(at: current) : StorageEntries(known, with: changes, revision: current)
        }
    }

    /// The state after the records that were appended to the file since; nil if the file ends before this state.
    ///
    /// - Parameter status: the status of the file, if it was just looked at.
    func continued(as status: FileStatus? = nil) throws(StorageError) -> JournalState? {
        guard let records = try file.records(from: end, after: chain, as: status) else { return nil }
        var state = self
        state.take(records)
        return state
    }

    /// Waits until all records are on the medium.
    func synchronize() throws(StorageError) {
        try file.synchronize(to: end, durableTo: durableEnd)
    }

    private mutating func add(_ commit: JournalCommit) {
        if let last = parts.last, last.count < Self.partSize {
            parts[parts.count - 1].append(commit)
        } else {
            parts.append([commit])
        }
    }

    private mutating func setBase(_ list: JournaledList) {
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

    /// The values of the entries that may differ from those in a list.
    func edits(since list: JournaledList) -> EntryEdits {
        var edits = list.overrides.mapValues(\.newValue)
        for commit in commits where commit.revision > list.revision { commit.apply(to: &edits) }
        return edits
    }

    /// The edits that the list in place lacks, over a list without entries.
    var missingEdits: [String: StorageCommit.Edit] {
        guard let list = lists.first else { return [:] }
        return StorageEntries().edits(to: StorageEntries(StorageEntries(), with: edits(since: list)))
    }

    /// Replaces the entries by equal ones.
    mutating func replaceEntries(by equal: StorageEntries) {
        entries = equal.stored(at: storageRevision)
    }

    /// Sets the entries, from the content of a recorded list.
    mutating func load(_ content: StorageEntries, of list: JournaledList) {
        entries = StorageEntries(content, with: edits(since: list), revision: storageRevision)
    }
}

// MARK: - Records to append and to keep

extension JournalState {
    /// The record of edits, as the next revision; none without edits.
    func commit(
        _ edits: [String: StorageCommit.Edit], at time: Date, by writer: String = JournalCommit.thisProcess
    ) -> [JournalRecord] {
        edits.isEmpty ? [] : [.commit(JournalCommit(revision: revision + 1, edits: edits, time: time, writer: writer))]
    }

    /// The last records of the journal, with the list in place and every commit that it lacks, and the revision before them.
    ///
    /// - Parameter size: how many bytes to keep at least.
    func lastRecords(of all: JournalRecords, atLeast size: Int) -> (first: UInt64, records: [JournalRecord]) {
        let start =
            all.records.first { offset, record in
                switch record {
                // Commits that were made while the list was written are before its record.
                case .commit(let commit): offset >= end - size || commit.revision == commits.first?.revision
                case .list(let list): offset >= end - size || list == lists.first
                case .placed: offset >= end - size
                }
            }?.offset ?? end
        var (first, kept) = (file.header.first, [JournalRecord]())
        for (offset, record) in all.records {
            if offset >= start {
                kept.append(record)
            } else if let revision = record.revision {
                first = max(first, revision)
            }
        }
        return (first, kept)
    }

    /// The commits after a revision, or all in the journal; nil if it has another history, or does not know every commit since.
    func commits(since revision: StorageRevision?) throws(StorageError) -> [StorageCommit]? {
        let history = file.header.historyName
        let first = revision?.number ?? file.header.first
        if let revision, revision.history != history { return nil }
        guard first >= file.header.first, first <= self.revision else { return nil }
        var commits: [StorageCommit] = []
        for (_, record) in try file.records().records {
            switch record {
            case .commit(let commit) where commit.revision > first:
                let number = StorageRevision(history: history, number: commit.revision)
                let wholeEdits = commit.edits.mapValues { StorageCommit.Edit(from: $0.oldValue, to: $0.newValue) }
                commits.append(StorageCommit(wholeEdits, revision: number, time: commit.time, writer: commit.writer))
            case .list(let list) where list.isGap && list.revision > first:
                // It is not known what that program has changed.
                if revision != nil { return nil }
                commits = []
            case .commit, .list, .placed: break
            }
        }
        return commits
    }
}
