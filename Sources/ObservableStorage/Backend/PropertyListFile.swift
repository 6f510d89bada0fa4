public import Foundation
import PropertyListCoding

/// Entries in a property-list file that several processes read and write, none of which loses an edit of another one.
///
/// Edits hold a lock on a separate file beside it (`.NAME.lock`), read the file again if it is not the one last seen, and replace it as a
/// whole, durably. Its format, mode and owner are kept, and so is what this library does not understand; access control lists and extended
/// attributes are not. A file that this user may not write, or that nobody may, is not replaced.
public final class PropertyListFile: StorageBackend {
    /// The file's path, from the root on; `..` and links stand in it as they were given.
    public let name: String

    /// The same, or why it is refused.
    let path: Result<AbsolutePath, StorageError>
    let onCorruption: CorruptionPolicy
    let lockTimeout: Duration
    let calls: FileSystemCalls
    /// What was read or written last; never held while the file is used.
    let lastSeen = Guarded<FileContent?>(nil)
    private let remains = Guarded(Remains())
    private let lock = HeldLock<ResolvedPath>()

    /// What may be left of writes that did not get to their end.
    private struct Remains {
        /// Temporary files: of writers that died, or of this one.
        var temporaries = true
        /// Content that stands in the file but may not outlive a power failure.
        var content = false
    }

    /// Names a file; nothing is read yet.
    ///
    /// It is the file that the system would open: `..` after a link leads out of the folder that the link leads to. A URL that may lead to
    /// another one is refused when the file is first used: one that is not UTF-8, or starts at a working folder that has gone.
    ///
    /// - Parameters:
    ///   - url: the file; a symbolic link is followed. It need not exist, nor its folder: both are made at the first write, for the owner alone.
    ///   - onCorruption: what to do if it is no readable property list when it is first read.
    ///   - lockTimeout: how long an edit waits for other processes that write the file.
    public convenience init(at url: URL, onCorruption: CorruptionPolicy = .refuse, lockTimeout: Duration = .seconds(10)) {
        self.init(at: url, onCorruption: onCorruption, lockTimeout: lockTimeout, calls: .live)
    }

    convenience init(at url: URL, onCorruption: CorruptionPolicy, lockTimeout: Duration, calls: FileSystemCalls) {
        let path = Result { () throws(StorageError) in try AbsolutePath(of: url) }
        self.init(path, named: AbsolutePath.name(of: url), onCorruption: onCorruption, lockTimeout: lockTimeout, calls: calls)
    }

    /// Names a file by its path, of which not even a leading `~` means anything but itself.
    package convenience init(path: String) {
        let absolute = Result { () throws(StorageError) in try AbsolutePath(path) }
        self.init(absolute, named: path, onCorruption: .refuse, lockTimeout: .seconds(10), calls: .live)
    }

    /// Names the file of a domain, in the folder where settings belong.
    package convenience init(suiteName: String) {
        let path = Result { () throws(StorageError) in try AbsolutePath(SettingsFolder.file(of: suiteName)) }
        self.init(path, named: suiteName + ".plist", onCorruption: .refuse, lockTimeout: .seconds(10), calls: .live)
    }

    private init(
        _ path: Result<AbsolutePath, StorageError>, named name: String, onCorruption: CorruptionPolicy, lockTimeout: Duration,
        calls: FileSystemCalls
    ) {
        if case .success(let path) = path { self.name = path.text } else { self.name = name }
        self.path = path
        self.onCorruption = onCorruption
        self.lockTimeout = lockTimeout
        self.calls = calls
    }

    /// Where a file really is, every symbolic link followed.
    static func place(of url: URL) throws(StorageError) -> ResolvedPath {
        try ResolvedPath(AbsolutePath(of: url))
    }

    /// Reads the file if it is not the one last seen; a missing one has no entries.
    ///
    /// - Throws: ``StorageError`` naming the file, the offset and the reason.
    public func load() throws -> StorageEntries {
        if let content = try contentUnlessCorrupt(at: path.get().text) { return content.entries }
        return try withFileLock { try contentOrQuarantine(at: $0.path).entries }
    }

    /// Runs an edit on the file's entries under its lock, and replaces the file if the edit changed something.
    ///
    /// - Throws: what the edit throws; ``StorageError`` when the file cannot be locked, read or written.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try withFileLock { target in
            sweep(target)
            let found = try contentOrQuarantine(at: target.path)
            var entries = found.entries
            try body(&entries)
            // What a failed write left in the file is as good as edited: it is on disk only once it has been written again.
            guard !entries.editedKeys.isEmpty || remains.withLock({ $0.content }) else { return found.entries }
            let written = try writeNotingFailure(entries, successorOf: found, to: target)
            lastSeen.take { last in
                defer { last = written }
                return last
            }
            return written.entries
        }
    }

    /// True: an edit inside another one is made on its own.
    public var allowsNestedEdits: Bool { true }

    /// Does something with the real file while no other writer can.
    ///
    /// Inside of itself, which only an edit that ends the process does, it takes no second lock.
    private func withFileLock<Result>(_ body: (_ target: ResolvedPath) throws -> Result) throws -> Result {
        if let target = lock.held { return try body(target) }
        let path = try path.get()
        while true {
            let target = try ResolvedPath(path, calls: calls)
            let result = try FileLock.withLock(for: target, timeout: lockTimeout, calls: calls) { () -> Result? in
                // A link may have been turned while the lock was waited for: its new target has a lock of its own.
                guard try ResolvedPath(path, calls: calls) == target else { return nil }
                return try lock.holding(target) { try body(target) }
            }
            if let result { return result }
        }
    }

    private func contentOrQuarantine(at path: String) throws(StorageError) -> FileContent {
        if let content = try contentUnlessCorrupt(at: path) { return content }
        try quarantine(path)
        return try content(at: path)
    }

    /// What the file holds, or nothing if it is bad and may be moved aside, which is so only before it was read for the first time.
    private func contentUnlessCorrupt(at path: String) throws(StorageError) -> FileContent? {
        do throws(StorageError) {
            return try content(at: path)
        } catch {
            guard case .malformed = error, onCorruption == .quarantine, lastSeen.withLock({ $0 == nil }) else { throw error }
            return nil
        }
    }

    /// Removes what writers left behind that died in the middle of a write, and what this one could not remove.
    private func sweep(_ target: ResolvedPath) {
        let isNeeded = remains.withLock { remains in
            defer { remains.temporaries = false }
            return remains.temporaries
        }
        if isNeeded { AtomicFile.removeLeftovers(of: target, calls: calls) }
    }

    private func writeNotingFailure(
        _ entries: StorageEntries, successorOf found: FileContent, to target: ResolvedPath
    ) throws -> FileContent {
        do {
            let written = try write(entries, format: found.format, to: target)
            remains.withLock { $0.content = false }
            return written
        } catch {
            let isReplaced = isReplaced(target.path, since: found.identity)
            remains.withLock { $0 = Remains(temporaries: true, content: $0.content || isReplaced) }
            throw error
        }
    }

    /// Whether the file is another one by now, or may be.
    private func isReplaced(_ path: String, since identity: FileIdentity?) -> Bool {
        do throws(StorageError) {
            return try FileIdentity(path: path, calls: calls) != identity
        } catch {
            return true
        }
    }

    private func write(_ entries: StorageEntries, format: PropertyListFormat, to target: ResolvedPath) throws -> FileContent {
        let (bytes, format) = try encode(entries, format: format)
        guard bytes.count <= AtomicFile.largestSize else {
            throw StorageError.unwritable(file: name, reason: "\(bytes.count) bytes are more than could be read again")
        }
        let time = calls.now()
        let identity = try AtomicFile.write(bytes, to: target, calls: calls)
        return FileContent(identity: identity, bytes: bytes, entries: entries.stored(as: format), format: format, lookedAt: time)
    }

    private func encode(_ entries: StorageEntries, format: PropertyListFormat) throws(StorageError) -> (Data, PropertyListFormat) {
        do {
            return (try entries.encoded(as: format), format)
        } catch  where format == .xml {
            // XML has no words for some text: a file in another format is better than an edit that is lost.
            return try encode(entries, format: .binary)
        } catch {
            throw .unwritable(file: name, reason: error.description)
        }
    }
}
