public import Dispatch
public import FoundationSubset
import Synchronization

/// Entries in a property-list file that several processes read and write, without losing each other's edits.
///
/// An edit reads the file again if it has changed, writes a new one beside it, and renames that to the path, durably, under a lock on a
/// separate file (`.NAME.lock`); if another writer replaced the file meanwhile, it starts again. The format, mode and owner of the file are
/// kept, and so are entries that this library does not interpret, and in XML the text around the edited values with its comments; access
/// control lists, extended attributes and set-user-ID bits are not. A file that this user may not write, or that nobody may, is not
/// replaced.
public final class PropertyListFile: BlockingStorageBackend {
    /// The absolute path of the file, with `..` and links as given.
    public let name: String

    /// The same, or the reason why it is rejected.
    private let path: Result<AbsolutePath, StorageError>
    let configuration: Configuration
    /// Reports to the watching stores that the file was deleted, and what became of edits of dead stores.
    let reports = ChangePublisher<StorageError>()
    /// Reports for the first store that watches.
    let unreported = Lock<[StorageError]>([])
    /// The reports that are not made again.
    let reportedOnce = Lock<Set<StorageError>>([])
    /// Whether the edits of dead stores were not looked for yet, or could not be made because another writer had the file locked.
    let isReplayDue: Atomic<Bool>
    /// What was last read of the journal, or appended to it. Its lock is not held while files are accessed.
    let journalState = Lock<JournalState?>(nil)
    let wasDamageReported = Atomic(false)
    /// Whether the file system of a list can have a journal, as last found.
    let journalObjection = Lock<(path: ResolvedPath, isPossible: Bool)?>(nil)
    /// Whether the file is where a process may neither hold a lock nor wait for one while the system has it suspended, such as in the
    /// container of an app group.
    let isOutsideContainer: Bool
    let calls: FileSystemCalls
    /// The content that was last read or written. Its lock is not held while the file is accessed.
    let cached = Lock<FileContent?>(nil)
    let isXML = Atomic(false)
    /// Possible remains of incomplete writes: temporary files, of this writer or of writers that died, and content in the file that a
    /// power failure may undo.
    let leftovers = Lock<(temporaries: Bool, content: Bool)>((true, false))
    let lock = LockOwner<ResolvedPath>()

    /// Creates a backend for a file, without reading it.
    ///
    /// It is the file that the system would open: `..` after a link leads to the parent of the link's target. A URL that may refer to
    /// another file is rejected when the file is first accessed: one that is not UTF-8, or is relative to a working folder that no longer
    /// exists. So is a file of `UserDefaults` on Apple's systems, in `Library/Preferences`, unless it is only read.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed. Neither it nor its folder has to exist: the first write creates both, for this user
    ///     only.
    ///   - access: whether the file is written.
    ///   - journal: what protects edits that are not in the file yet.
    public convenience init(at url: URL, access: StorageAccess = .readWrite, journal: JournalMode = .edits) {
        self.init(at: url, configuration: Configuration(access: access, journal: journal))
    }

    /// Creates a backend for a file, without reading it; see ``init(at:access:journal:)``.
    public convenience init(at url: URL, configuration: Configuration) {
        self.init(at: url, configuration: configuration, calls: .live)
    }

    /// - Parameters:
    ///   - isOutsideContainer: whether the process may not hold locks there while it is suspended; nil to determine it by the path.
    ///   - calls: the system calls for all accesses to the file, except watching it.
    package convenience init(
        at url: URL, configuration: Configuration = Configuration(), isOutsideContainer: Bool? = nil, calls: FileSystemCalls
    ) {
        let path = Result { () throws(StorageError) in
            let path = try AbsolutePath(of: url, calls: calls)
            if configuration.access == .readWrite { try calls.rules.requireOwn(path.text) }
            return path
        }
        self.init(
            path, named: AbsolutePath.name(of: url), configuration: configuration, isOutsideContainer: isOutsideContainer, calls: calls)
    }

    /// Creates a backend for a path, in which not even a leading `~` has a special meaning.
    package convenience init(path: String, access: StorageAccess = .readWrite) {
        let absolute = Result { () throws(StorageError) in try AbsolutePath(path) }
        self.init(absolute, named: path, configuration: Configuration(access: access), calls: .live)
    }

    /// Creates a backend for the file of a suite, in the folder of settings.
    package convenience init(suiteName: String, configuration: Configuration = Configuration()) {
        let path = Result { () throws(StorageError) in try AbsolutePath(SettingsFolder.path(ofSuite: suiteName)) }
        self.init(path, named: suiteName + ".plist", configuration: configuration, calls: .live)
    }

    /// The files in which administrators provide default and mandatory values of a suite, those with precedence first.
    package static func administratorsFiles(ofSuite suite: String) -> (defaults: [PropertyListFile], mandatory: [PropertyListFile]) {
        let folders = SettingsFolder.ofAdministrators
        return (
            folders.map { PropertyListFile(path: "\($0)/\(suite).plist", access: .readOnly) },
            folders.map { PropertyListFile(path: "\($0)/\(suite).mandatory.plist", access: .readOnly) }
        )
    }

    private init(
        _ path: Result<AbsolutePath, StorageError>, named name: String, configuration: Configuration, isOutsideContainer: Bool? = nil,
        calls: FileSystemCalls
    ) {
        if case .success(let path) = path { self.name = path.text } else { self.name = name }
        self.path = path
        self.configuration = configuration.effective
        isReplayDue = Atomic(configuration.access != .readOnly)
        self.isOutsideContainer = isOutsideContainer ?? calls.rules.forbidsLockWhileSuspended(of: self.name)
        self.calls = calls
    }

    /// Reads the file if it has changed since it was last read or written; a missing file has no entries.
    ///
    /// - Throws: ``StorageError`` naming the file, the offset and the reason.
    public func load() throws -> StorageEntries {
        try restoreIfNeeded()
        replayWhenReading()
        let entries = try loadStored()
        return needsReplay ? withDeadEdits(entries) : entries
    }

    private func loadStored() throws -> StorageEntries {
        if let entries = try loadJournaled() { return entries }
        if let content = try contentUnlessCorrupt(at: ResolvedPath(splitting: path.get().text)) { return content.entries }
        while true {
            let target = try lock.resource ?? resolved()
            if let content = try withFileLock(of: target, { _ in try contentOrQuarantine(at: target) }) { return content.entries }
        }
    }

    /// The file with its absolute path, with `..` and links as given; nil if the path was rejected.
    public var url: URL? {
        guard case .success(let path) = path else { return nil }
        return URL(fileURLWithPath: path.text, isDirectory: false)
    }

    /// Whether edits are refused, and the file is only read.
    public var isReadOnly: Bool { configuration.access == .readOnly }

    /// When the list is rewritten; nil if this backend makes no journal. One that stands beside the file is used nevertheless.
    var journalOptions: JournalOptions? {
        configuration.inPlaceWriting == .never ? JournalOptions(configuration.journal) : nil
    }

    /// True: an edit inside another one is made separately.
    public var allowsNestedEdits: Bool { true }

    /// Watches the file, also while it or its folder is missing.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let path: AbsolutePath
        do throws(StorageError) {
            path = try self.path.get()
        } catch {
            queue.async { report(.failed(error)) }
            return ObservationToken {}
        }
        let told = Lock<StorageRevision?>(nil)
        let journal = JournalWatch(on: queue) { [self] list in
            var revision = told.withLock { $0 }
            let event = journalEvent(of: list, since: &revision)
            told.withLock { [revision] in $0 = revision }
            if let event { report(event) }
        }
        let watcher = FileWatcher(path: path.text, queue: queue) { [self] event in
            switch event {
            case .changed, .recovered:
                // A link may lead to another list, which has another journal.
                journal.follow(watchedList)
                report(.changed)
            case .fallback(let error), .incomplete(let error): report(.failed(error))
            }
        }
        let token = reports.subscribe { error in queue.async { report(.failed(error)) } }
        reportUnreported()
        return ObservationToken {
            watcher.cancel()
            journal.cancel()
            token.cancel()
        }
    }

    /// The list that the path leads to; nil if that cannot be found out, which reading it reports.
    private var watchedList: ResolvedPath? {
        do {
            return try destination()
        } catch {
            return nil
        }
    }
}

// MARK: - Path and lock

extension PropertyListFile {
    /// The path of the file that a URL leads to, every symbolic link resolved.
    static func resolvedPath(of url: URL) throws(StorageError) -> ResolvedPath {
        try ResolvedPath(AbsolutePath(of: url)).unopened
    }

    /// Where the path leads at present, for reading only.
    func destination() throws(StorageError) -> ResolvedPath {
        try calls.destination(of: path.get())
    }

    /// The resolved path at present, its folder open.
    func resolved() throws(StorageError) -> ResolvedPath {
        try ResolvedPath(path.get(), calls: calls)
    }

    /// Runs a closure while no other writer of the file can; returns nil if the path leads elsewhere now.
    ///
    /// The lock passed is nil if this thread holds it already, as for an edit inside another one, at the end of the process.
    ///
    /// - Parameter timeout: how long others may hold the lock; nil for as long as an edit waits.
    func withFileLock<Result>(
        of target: ResolvedPath, timeout: Duration? = nil, _ body: (_ lock: FileLock?) throws -> Result
    ) throws -> Result? {
        if lock.resource != nil { return try body(nil) }
        if try calls.makeFolderIfMissing(of: target) { return nil }
        try calls.requireOwnLinks(of: target)
        let timeout = timeout ?? configuration.lockTimeout
        let waiting: FileLock.Waiting = isOutsideContainer ? .polling : .queued
        return try FileLock.withLock(for: target, timeout: timeout, waiting: waiting, calls: calls) { fileLock in
            // A link may have been replaced while waiting for the lock: its new target has another lock.
            guard try calls.leads(path.get(), to: target) else { return nil }
            return try lock.own(target) { try body(fileLock) }
        }
    }

    /// Whether users other than this one and the superuser control the content of the file: whether they may write it, or replace it, a
    /// link that leads to it, or a folder on the path.
    ///
    /// Such a file is read and written like any other. A program that trusts its settings as it trusts its own code checks this before it
    /// opens them. The group of a file counts as others; for a missing file, those who may create it are considered. Access control lists
    /// are considered as far as the permissions show them, as those of the group show POSIX ones.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if the path cannot be resolved.
    public var isWritableByOthers: Bool {
        get throws(StorageError) {
            let path = try path.get()
            do throws(SystemError) {
                return try isOpenToOthers(path)
            } catch {
                throw .unreadable(file: name, reason: error.reason)
            }
        }
    }

    private func isOpenToOthers(_ path: AbsolutePath) throws(SystemError) -> Bool {
        var walk = PathWalk(path.text)
        while let step = walk.next() {
            guard let folder = try calls.folderStatus(of: step) else { return false }
            let entry = try calls.entry(at: step)
            // In a sticky folder others may create missing files, but not replace files of another owner.
            let isProtected = folder.isSticky && entry != nil && (folder.owner == 0 || folder.owner == geteuid())
            if folder.isOpenToOthers, !isProtected { return true }
            // A folder is examined with the next name in it.
            if let status = entry?.status, status.kind != .folder, status.isOpenToOthers { return true }
            walk.found(entry?.status.kind, target: entry?.target)
        }
        _ = try walk.destination()
        return false
    }
}
