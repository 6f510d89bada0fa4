import FoundationSubset
import PropertyListCoding
import Synchronization

/// A property list on disk: its path, the lock of its writers, and the content that was last read or written.
final class ListFile: Sendable {
    /// The absolute path of the file, with `..` and links as given.
    let name: String
    /// The same, or the reason why it is rejected.
    let path: Result<AbsolutePath, StorageError>
    let configuration: PropertyListFile.Configuration
    /// Whether the file is where a process may neither hold a lock nor wait for one while the system has it suspended, such as in the
    /// container of an app group.
    var isOutsideContainer: Bool { calls.rules.forbidsLockWhileSuspended(of: name) }
    let calls: FileSystemCalls
    /// Receives errors that no call throws, such as that the file was deleted, or that edits of dead stores conflict with it.
    let reports = BackendReports()
    let lock = LockOwner<ResolvedPath>()
    /// The format of the file when it was last read or written, as its index; binary before, in which every value can be stored. Atomic
    /// because setters read it.
    private let formatIndex = Atomic(0)
    /// The content that was last read or written. Its lock is not held while the file is accessed.
    let cached = Lock<FileContent?>(nil)
    /// Whether a malformed list was renamed, by this process or according to the journal, and none has taken its place yet: which values it
    /// had is not known.
    let isQuarantined = Atomic(false)
    /// The last watch that has not ended, and the list to which the path last led. The folder of that is open while the list is watched, or
    /// its journal is known.
    private let kept = Lock<(watch: WeakReference<ListWatch>?, target: ResolvedPath?)>((nil, nil))
    /// The last listing of edit logs that found none of dead stores.
    let logListing = Lock<EditLogFolder.Listing?>(nil)
    /// Possible remains of incomplete writes: temporary files, of this writer or of writers that died, and content in the file that a
    /// power failure may undo.
    let leftovers = Lock((temporaries: true, content: false))

    init(
        _ path: Result<AbsolutePath, StorageError>, named name: String, configuration: PropertyListFile.Configuration,
        calls: FileSystemCalls
    ) {
        if case .success(let path) = path { self.name = path.text } else { self.name = name }
        self.path = path
        self.configuration = configuration.effective
        self.calls = calls
    }

    deinit {
        returnFreedMemory(afterListOf: cached.withLock { $0?.bytes.count ?? 0 })
    }

    /// The last watch of the list that has not ended.
    var currentWatch: ListWatch? { kept.withLock { $0.watch?.object } }

    func begin(_ watch: ListWatch) {
        kept.withLock { $0.watch = WeakReference(watch) }
    }

    func end(_ watch: ListWatch) {
        watch.cancel()
        kept.take { kept in
            let last = (kept.watch?.object, kept.target)
            if last.0 === watch { kept = (nil, nil) }
            return last
        }
    }

    var isReadOnly: Bool { configuration.access == .readOnly }

    /// The format of a file that does not exist yet: the one that the configuration names, or else that of its extension.
    var newFormat: PropertyListFormat {
        configuration.format ?? (name.lowercased().hasSuffix(".json") ? .json : .binary)
    }

    private static let formats: [PropertyListFormat] = [.binary, .xml, .json]

    var format: PropertyListFormat { Self.formats[formatIndex.load(ordering: .relaxed)] }

    func record(_ format: PropertyListFormat) {
        formatIndex.store(Self.formats.firstIndex(of: format) ?? 0, ordering: .relaxed)
    }

    // MARK: Path and lock

    /// The file that this thread has locked, or else the one to which the path currently leads, with its folder open.
    func target() throws(StorageError) -> ResolvedPath {
        if let known = knownTarget() { return known }
        let found = try resolved()
        keep(found, isJournaled: false)
        return found
    }

    /// The same if it is known already, which takes a fifth of the calls of resolving the path.
    func knownTarget() -> ResolvedPath? {
        lock.resource ?? keptTarget()?.path
    }

    /// The file to which the path last led, if that is kept and the path still leads there, and its status, nil if it is missing.
    func keptTarget() -> (path: ResolvedPath, status: FileStatus?)? {
        // A link of another user that was followed is examined each time.
        guard let known = kept.withLock({ $0.target }), known.foreignLink == nil else { return nil }
        do throws(StorageError) {
            let status = calls.statusOrNil(at: known)
            return try calls.leads(path.get(), to: known, as: status) ? (known, status) : nil
        } catch {
            // Resolving it has the same error.
            return nil
        }
    }

    /// Keeps the folder of a list open for later calls, if the list is watched or has a journal.
    func keep(_ target: ResolvedPath?, isJournaled: Bool) {
        kept.take { kept in
            defer { if isJournaled || kept.watch != nil { kept.target = target } }
            return kept.target
        }
    }

    /// Where the path currently leads, for reading only.
    func destination() throws(StorageError) -> ResolvedPath {
        try calls.destination(of: path.get())
    }

    /// The file to which the path currently leads, with its folder open.
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
        return try FileLock.withLock(for: target, timeout: timeout, isPolling: isOutsideContainer, calls: calls) { fileLock in
            // A link may have been replaced while waiting for the lock: its new target has another lock.
            guard try calls.leads(path.get(), to: target, as: fileLock.list) else { return nil }
            return try lock.own(target) { try body(fileLock) }
        }
    }

    /// Whether users other than this one and the superuser may write the file, or replace it, a link that leads to it, or a folder on the
    /// path.
    func isOpenToOthers() throws(StorageError) -> Bool {
        let path = try path.get()
        return try calls.reading(name) { () throws(SystemError) in
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

    /// The objection of a check of the folder; nil if there is none, or the folder cannot be opened.
    func objection(_ reason: (_ target: ResolvedPath, _ folder: Int32) throws(SystemError) -> String?) -> StorageError? {
        do {
            let target = try resolved()
            let folder = try calls.openFolder(of: target)
            defer { calls.discard(folder) }
            return try reason(target, folder).map { .unwritable(file: target.path, reason: $0) }
        } catch {
            // Making a file there will fail for the same reason, unless the folder is missing and can be made.
            return nil
        }
    }

    /// The error after every attempt has failed because the file was replaced.
    var busyError: StorageError {
        .unwritable(file: name, reason: "other writers keep changing it while it is written")
    }
}
