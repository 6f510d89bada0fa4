public import Dispatch
public import FoundationSubset
public import PropertyListCoding
import Synchronization

/// Entries in a property-list file that several processes read and write, without losing each other's edits.
///
/// An edit reads the file again if it has changed, writes a new one beside it, and renames that to the path, durably, under a lock on a
/// separate file (`.NAME.lock`); if another writer replaced the file meanwhile, it starts again. The format, mode and owner of the file are
/// kept, and so are entries that this library does not interpret, and in XML and JSON the text around the edited values with its comments; access
/// control lists, extended attributes and set-user-ID bits are not. A file that this user may not write, or that nobody may, is not
/// replaced.
public final class PropertyListFile: BlockingStorageBackend {
    let list: ListFile
    let journal: Journal
    /// Whether the edits of dead stores still have to be replayed: not tried yet, or the last attempt has failed.
    let isReplayDue: Atomic<Bool>

    /// Creates a backend for a file, without reading it.
    ///
    /// It is the file that the system would open: `..` after a link leads to the parent of the link's target. A URL that may refer to
    /// another file is rejected when the file is first accessed: one that is not UTF-8, or is relative to a working folder that no longer
    /// exists. So is a file of `UserDefaults` on Apple's systems, in `Library/Preferences`, unless it is only read.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed. Neither it nor its folder has to exist: the first write creates both, for this user
    ///     only.
    ///   - access: whether the file is written; nil for what the configuration says.
    ///   - journal: what protects edits that are not in the file yet; nil for what the configuration says.
    ///   - configuration: how the file is read, written and protected.
    public convenience init(
        at url: URL, access: StorageAccess? = nil, journal: JournalMode? = nil, configuration: Configuration = Configuration()
    ) {
        self.init(at: url, configuration: configuration.with(access: access, journal: journal), calls: .live)
    }

    /// - Parameter calls: the system calls for all accesses to the file, except watching it.
    package convenience init(at url: URL, configuration: Configuration = Configuration(), calls: FileSystemCalls) {
        let path = Result { () throws(StorageError) in
            let path = try AbsolutePath(of: url, calls: calls)
            if configuration.access == .readWrite { try calls.rules.requireOwn(path.text) }
            return path
        }
        self.init(path, named: AbsolutePath.name(of: url), configuration: configuration, calls: calls)
    }

    /// Creates a backend for a path, in which not even a leading `~` has a special meaning.
    package convenience init(path: String, access: StorageAccess = .readWrite) {
        let absolute = Result { () throws(StorageError) in try AbsolutePath(path) }
        self.init(absolute, named: path, configuration: Configuration().with(access: access), calls: .live)
    }

    /// Creates a backend for the file of a suite, in the folder of settings.
    package convenience init(
        suiteName: String, kind: SuiteKind = .configuration, configuration: Configuration = Configuration()
    ) {
        let path = Result { () throws(StorageError) in try AbsolutePath(SettingsFolder.path(ofSuite: suiteName, kind: kind)) }
        self.init(path, named: suiteName + ".plist", configuration: configuration, calls: .live)
    }

    /// The files in which administrators provide default and mandatory values of a suite, those with precedence first.
    package static func administratorsFiles(
        ofSuite suite: String, kind: SuiteKind = .configuration
    ) -> (defaults: [PropertyListFile], mandatory: [PropertyListFile]) {
        let folders = kind == .state || !SettingsFolder.isName(suite) ? [] : SettingsFolder.ofAdministrators
        return (
            folders.map { PropertyListFile(path: "\($0)/\(suite).plist", access: .readOnly) },
            folders.map { PropertyListFile(path: "\($0)/\(suite).mandatory.plist", access: .readOnly) }
        )
    }

    private init(
        _ path: Result<AbsolutePath, StorageError>, named name: String, configuration: Configuration, calls: FileSystemCalls
    ) {
        list = ListFile(path, named: name, configuration: configuration, calls: calls)
        journal = Journal(of: list)
        isReplayDue = Atomic(configuration.access != .readOnly)
    }

    /// The absolute path of the file, with `..` and links as given.
    public var name: String { list.name }

    /// The file with its absolute path, with `..` and links as given; nil if the path was rejected.
    package var url: URL? {
        guard case .success(let path) = list.path else { return nil }
        return URL(fileURLWithPath: path.text, isDirectory: false)
    }

    /// Whether edits are refused, and the file is only read.
    public var isReadOnly: Bool { list.isReadOnly }

    package var allowsNestedEdits: Bool { true }

    var configuration: Configuration { list.configuration }
    /// The format of the file when it was last read or written.
    package var format: PropertyListFormat { list.format }
    var calls: FileSystemCalls { list.calls }
    var isOutsideContainer: Bool { list.isOutsideContainer }

    /// Reads the file if it has changed since it was last read or written; a missing file has no entries.
    ///
    /// - Throws: ``StorageError`` naming the file, the offset and the reason.
    public func load() throws -> StorageEntries {
        try list.restoreIfNeeded()
        replayWhenReading()
        let entries = try journal.load() ?? list.load(quarantining: journal.quarantine)
        return needsReplay ? withDeadEdits(entries) : entries
    }

    /// The value as it will be read back: as represented in the format that the file had when it was last read
    /// or written.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        try list.storable(value, for: key)
    }

    /// The commits after a revision, as far as the journal reaches back.
    ///
    /// - Parameter revision: the revision; nil for all commits in the journal.
    /// - Returns: nil without a journal, if it has another history, or if it does not know every commit since.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        try journal.commits(since: revision)
    }

    /// Watches the file, also while it or its folder is missing.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        watch(on: queue, from: nil, report)
    }

    func watch(
        on queue: DispatchQueue, from start: WatchStart?, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let path: AbsolutePath
        do throws(StorageError) {
            path = try list.path.get()
        } catch {
            queue.async { report(.failed(error)) }
            return ObservationToken {}
        }
        let watch = ListWatch()
        list.begin(watch)
        let begin = { @Sendable [self] in self.start(watch, of: path, on: queue, report) }
        if let start { start.perform(begin) } else { begin() }
        let token = list.reports.subscribe { error in queue.async { report(.failed(error)) } }
        return ObservationToken { [list] in
            list.end(watch)
            token.cancel()
        }
    }

    private func start(
        _ watch: ListWatch, of path: AbsolutePath, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) {
        // It may have been cancelled meanwhile.
        guard watch.isWaiting else { return }
        let reported = Lock<StorageRevision?>(nil)
        let receive = { @Sendable [journal, weak watch] (event: FileWatcher.Event, list: ResolvedPath) in
            switch event {
            case .changed:
                var revision = reported.withLock { $0 }
                let event = journal.event(of: list, since: &revision)
                reported.withLock { [revision] in $0 = revision }
                if let event { report(event) }
            case .recovered: break
            case .fallback(let error):
                // What prevents watching the list usually affects its journal as well, whose watcher may report it first.
                watch?.watcher?.session.receive(.rerouted)
                queue.async { [weak watch] in
                    if watch?.watcher?.mechanism != .polling { report(.failed(error)) }
                }
            case .incomplete(let error): report(.failed(error))
            }
        }
        let watcher = FileWatcher(path: path.text, queue: queue, isStarted: false) { [self, weak watch] event in
            switch event {
            case .changed:
                report(.changed)
                // A link may lead to another list, which has another journal. That is reported once it is watched.
                watch?.followJournal(of: watchedList, on: queue, receive)
            case .recovered:
                // The change that follows watches the journal again, and reports if that fails now.
                watch?.followJournal(of: nil, on: queue, receive)
            case .fallback(let error), .incomplete(let error): report(.failed(error))
            }
        }
        watch.start(watcher)
    }

    /// The list to which the path leads; nil if the path cannot be resolved, which reading reports.
    private var watchedList: ResolvedPath? {
        do {
            return try list.knownTarget()?.unopened ?? list.destination()
        } catch {
            return nil
        }
    }
}

extension PropertyListFile {
    /// Whether users other than this one and the superuser control the content of the file: whether they may write it, or replace it, a
    /// link that leads to it, or a folder on the path.
    ///
    /// Such a file is read and written like any other. A program that trusts its settings as it trusts its own code checks this before it
    /// opens them. The group of a file counts as others; for a missing file, those who may create it are considered. Access control lists
    /// are considered as far as the permissions show them, as those of the group show POSIX ones.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if the path cannot be resolved.
    public var isWritableByOthers: Bool {
        get throws(StorageError) { try list.isOpenToOthers() }
    }

    /// The errors that were reported to no store, for a program without one; each is returned once.
    package func takeReports() -> [StorageError] {
        list.reports.take()
    }

    /// The path of the file that a URL leads to, every symbolic link resolved.
    static func resolvedPath(of url: URL) throws(StorageError) -> ResolvedPath {
        try ResolvedPath(AbsolutePath(of: url)).unopened
    }
}
