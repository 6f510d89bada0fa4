public import Dispatch
public import FoundationSubset
public import PropertyListCoding
import Synchronization

/// Entries in a property-list file that several processes read and write, without losing each other's edits.
///
/// An edit reads the file again if it has changed, writes a new one beside it, and renames that to the path, durably, under a lock on a
/// separate file (`.NAME.lock`); if another writer replaced the file meanwhile, it starts again. The format, mode and owner of the file are
/// kept, and so are entries that this library does not interpret, and in XML the text around the edited values with its comments; access
/// control lists, extended attributes and set-user-ID bits are not. A file that this user may not write, or that nobody may, is not
/// replaced.
public final class PropertyListFile: BlockingStorageBackend {
    /// What to do if the format of the file cannot represent a value: XML has no control characters, and no dates outside the years
    /// 1 to 9999.
    public enum FormatPolicy: Sendable, Hashable {
        /// Throw ``StorageError/unencodable(key:reason:underlying:)``, and keep the format.
        case keep
        /// Write a binary file, which can represent every value, from then on.
        case binaryWhenNecessary
    }

    /// The absolute path of the file, with `..` and links as given.
    public let name: String

    /// The same, or the reason why it is rejected.
    private let path: Result<AbsolutePath, StorageError>
    let onCorruption: CorruptionPolicy
    let formatPolicy: FormatPolicy
    let newFileFormat: PropertyListFormat
    let onDeletion: DeletionPolicy
    /// Reports to the watching stores that the file was deleted, and what became of edits of dead stores.
    let reports = ChangePublisher<StorageError>()
    /// Reports for the first store that watches.
    let unreported = Lock<[StorageError]>([])
    /// The reports that are not made again.
    let reportedOnce = Lock<Set<StorageError>>([])
    /// Whether the edits of dead stores were not looked for yet, or could not be made because another writer had the file locked.
    let isReplayDue: Atomic<Bool>
    let journal: JournalMode
    /// Nil if this backend makes no journal; one that stands beside the file is used nevertheless.
    let journalOptions: JournalOptions?
    /// What was last read of the journal, or appended to it. Its lock is not held while files are accessed.
    let journalState = Lock<JournalState?>(nil)
    let wasDamageReported = Atomic(false)
    /// Whether the file system of a list can have a journal, as last found.
    let journalObjection = Lock<(path: ResolvedPath, isPossible: Bool)?>(nil)
    /// The data protection of a new file.
    let protection: FileProtection?
    /// Whether the file is where a process may neither hold a lock nor wait for one while the system has it suspended, such as in the
    /// container of an app group.
    let isOutsideContainer: Bool
    /// Whether edits are refused, and the file is only read.
    public let isReadOnly: Bool
    let lockTimeout: Duration
    let inPlace: InPlaceWriting
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
    ///   - onCorruption: what to do if it is not a readable property list when it is first read.
    ///   - lockTimeout: how long an edit waits for other processes that lock the file without writing it.
    ///   - inPlace: whether a file that cannot be replaced is written in place.
    ///   - formatPolicy: what to do if the file's format cannot represent a value.
    ///   - format: the format of a new file; an existing one keeps its own.
    ///   - onDeletion: what to do if the file is deleted after it was read.
    ///   - access: whether the file is written. One that is only read is neither locked, renamed if it is malformed, nor restored.
    ///   - protection: the data protection of a new file; nil for the application's default. An existing file keeps its own.
    ///   - journal: what protects edits that are not in the file yet.
    public convenience init(
        at url: URL, onCorruption: CorruptionPolicy = .refuse, lockTimeout: Duration = .seconds(10), inPlace: InPlaceWriting = .never,
        formatPolicy: FormatPolicy = .keep, format: PropertyListFormat = .binary, onDeletion: DeletionPolicy = .removeAll,
        access: StorageAccess = .readWrite, protection: FileProtection? = nil, journal: JournalMode = .edits
    ) {
        self.init(
            at: url, onCorruption: onCorruption, lockTimeout: lockTimeout, inPlace: inPlace, formatPolicy: formatPolicy, format: format,
            onDeletion: onDeletion, access: access, protection: protection, journal: journal, calls: .live)
    }

    /// - Parameters:
    ///   - isOutsideContainer: whether the process may not hold locks there while it is suspended; nil to determine it by the path.
    ///   - calls: the system calls for all accesses to the file, except watching it.
    package convenience init(
        at url: URL, onCorruption: CorruptionPolicy, lockTimeout: Duration, inPlace: InPlaceWriting = .never,
        formatPolicy: FormatPolicy = .keep, format: PropertyListFormat = .binary, onDeletion: DeletionPolicy = .removeAll,
        access: StorageAccess = .readWrite, protection: FileProtection? = nil, journal: JournalMode = .edits,
        isOutsideContainer: Bool? = nil, calls: FileSystemCalls
    ) {
        let path = Result { () throws(StorageError) in
            let path = try AbsolutePath(of: url, calls: calls)
            if access == .readWrite { try calls.rules.requireOwn(path.text) }
            return path
        }
        self.init(
            path, named: AbsolutePath.name(of: url), onCorruption: onCorruption, lockTimeout: lockTimeout, inPlace: inPlace,
            formatPolicy: formatPolicy, format: format, onDeletion: onDeletion, access: access, protection: protection,
            journal: journal, isOutsideContainer: isOutsideContainer, calls: calls)
    }

    /// Creates a backend for a path, in which not even a leading `~` has a special meaning.
    package convenience init(path: String, access: StorageAccess = .readWrite) {
        let absolute = Result { () throws(StorageError) in try AbsolutePath(path) }
        self.init(absolute, named: path, onCorruption: .refuse, lockTimeout: .seconds(10), access: access, calls: .live)
    }

    /// Creates a backend for the file of a suite, in the folder of settings.
    package convenience init(suiteName: String) {
        let path = Result { () throws(StorageError) in try AbsolutePath(Self.path(ofSuite: suiteName)) }
        self.init(path, named: suiteName + ".plist", onCorruption: .refuse, lockTimeout: .seconds(10), calls: .live)
    }

    private init(
        _ path: Result<AbsolutePath, StorageError>, named name: String, onCorruption: CorruptionPolicy, lockTimeout: Duration,
        inPlace: InPlaceWriting = .never, formatPolicy: FormatPolicy = .keep, format: PropertyListFormat = .binary,
        onDeletion: DeletionPolicy = .removeAll, access: StorageAccess = .readWrite, protection: FileProtection? = nil,
        journal: JournalMode = .edits, isOutsideContainer: Bool? = nil, calls: FileSystemCalls
    ) {
        if case .success(let path) = path { self.name = path.text } else { self.name = name }
        self.path = path
        isReadOnly = access == .readOnly
        isReplayDue = Atomic(access != .readOnly)
        self.protection = protection
        self.journal = isReadOnly ? .off : journal
        self.onCorruption = isReadOnly ? .refuse : onCorruption
        self.inPlace = isReadOnly ? .never : inPlace
        journalOptions = isReadOnly || inPlace != .never ? nil : JournalOptions(journal)
        self.isOutsideContainer = isOutsideContainer ?? calls.rules.forbidsLockWhileSuspended(of: self.name)
        self.lockTimeout = lockTimeout
        self.formatPolicy = formatPolicy
        newFileFormat = format
        self.onDeletion = onDeletion
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
        let waiting: FileLock.Waiting = isOutsideContainer ? .polling : .queued
        return try FileLock.withLock(for: target, timeout: timeout ?? lockTimeout, waiting: waiting, calls: calls) { fileLock in
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

// MARK: - Options

/// Whether a storage is written.
public enum StorageAccess: Sendable, Hashable {
    /// It is read and written.
    case readWrite
    /// It is read and observed, for extensions of an application, and for files that this process may not write.
    ///
    /// Nothing is created, locked or written: neither the file, nor its folder, nor its lock file. Edits throw
    /// ``StorageError/readOnly(file:)``; property setters report it in the store's `failures`. Keys with earlier names or types are read
    /// without being migrated.
    case readOnly
}

/// What to do if a file that is opened is not a readable property list.
public enum CorruptionPolicy: Sendable, Hashable {
    /// Throw an error with the position and the reason, and do not change the file.
    case refuse
    /// Rename the file to `NAME.corrupt-TIME`, of which the newest three are kept, and start empty.
    case quarantine
}

/// What to do if the file of a store is deleted by another process, and not created again at once.
public enum DeletionPolicy: Sendable, Hashable {
    /// Every entry is removed, so that all keys have their defaults.
    case removeAll
    /// The last values are kept in memory, which is reported in the store's `failures`; the next write stores all of them again.
    ///
    /// A file that another process creates meanwhile takes effect as it is.
    case keepLastValues
}

/// Whether a file that cannot be replaced because it is a mount point, as a single file in a container is, is written in place.
///
/// During the write, a copy of the new content exists beside the file, or in a given folder, from which the next process that opens the
/// file restores it if the writer died. Readers that do not support this may read a part of the file; those of this library read it again.
///
/// All writers of the file need the same folder for copies: otherwise a remaining copy is not found by the others, and would undo their
/// later writes. That folder has to exist as long as the file does, which the one beside it in a container may not.
public struct InPlaceWriting: Sendable, Hashable {
    private let isAllowed: Bool
    /// The folder for copies; nil for that of the file.
    private let folder: String?

    /// Writing throws an error with the reason.
    public static let never = InPlaceWriting(isAllowed: false, folder: nil)

    /// It is written in place, with a copy beside it.
    public static let whenNecessary = InPlaceWriting(isAllowed: true, folder: nil)

    /// It is written in place, with a copy in a folder, which the first write creates.
    public static func whenNecessary(copyIn folder: URL) -> InPlaceWriting {
        InPlaceWriting(isAllowed: true, folder: folder.path)
    }

    /// Whether copies are in a given folder.
    var hasFolder: Bool { folder != nil }

    /// The path of the copy of a file; nil if it is never written in place.
    func copy(of target: ResolvedPath, calls: FileSystemCalls) throws(StorageError) -> ResolvedPath? {
        guard isAllowed else { return nil }
        guard let folder else { return target.copy }
        do throws(StorageError) {
            let found = try ResolvedPath(AbsolutePath(folder, calls: calls), calls: calls)
            guard let copies = try open(found, calls) else { return ResolvedPath(target.nameOfCopy, in: found.path) }
            return ResolvedPath(target.nameOfCopy, in: copies)
        } catch {
            throw .unreadable(file: target.path, reason: "the folder for its copies cannot be followed: \(error)")
        }
    }

    private func open(_ folder: ResolvedPath, _ calls: FileSystemCalls) throws(StorageError) -> OpenFolder? {
        do throws(SystemError) {
            return try calls.enter(folder)
        } catch let error where error.isMissing {
            return nil
        } catch {
            throw .unreadable(file: folder.path, reason: error.reason)
        }
    }
}
