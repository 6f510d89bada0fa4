public import Foundation
public import PropertyListCoding
import Synchronization

/// Entries in a property-list file that several processes read and write, none of which loses an edit of another one.
///
/// Edits read the file again if it is not the one last seen, write a new one beside it, and put that in its place, durably, under a lock on a
/// separate file (`.NAME.lock`), unless somebody else was faster: then they begin anew. Its format, mode and owner are kept, and so is what
/// this library does not understand; access control lists, extended attributes and set-user-ID bits are not. A file that this user may not
/// write, or that nobody may, is not replaced.
public final class PropertyListFile: StorageBackend {
    /// What becomes of a file whose format cannot hold what is to be written: XML has no control characters, and no dates outside the years
    /// 1 to 9999.
    public enum FormatPolicy: Sendable, Hashable {
        /// It is refused with ``StorageError/unencodable(key:reason:)``, and the file keeps its format.
        case keep
        /// The file becomes a binary one, which holds everything, and stays that.
        case binaryWhenNecessary
    }

    /// The file's path, from the root on; `..` and links stand in it as they were given.
    public let name: String

    /// The same, or why it is refused.
    let path: Result<AbsolutePath, StorageError>
    let onCorruption: CorruptionPolicy
    private let formatPolicy: FormatPolicy
    let lockTimeout: Duration
    let inPlace: InPlaceWriting
    let calls: FileSystemCalls
    /// What was read or written last; never held while the file is used.
    let lastSeen = Guarded<FileContent?>(nil)
    private let isXML = Atomic(false)
    let remains = Guarded(Remains())
    let lock = HeldLock<ResolvedPath>()

    /// What may be left of writes that did not get to their end.
    struct Remains {
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
    ///   - lockTimeout: how long an edit waits for other processes that lock the file without writing it.
    ///   - inPlace: whether a file that cannot be replaced is written in place.
    ///   - formatPolicy: what to do where the file's format cannot hold a value.
    public convenience init(
        at url: URL, onCorruption: CorruptionPolicy = .refuse, lockTimeout: Duration = .seconds(10), inPlace: InPlaceWriting = .never,
        formatPolicy: FormatPolicy = .keep
    ) {
        self.init(at: url, onCorruption: onCorruption, lockTimeout: lockTimeout, inPlace: inPlace, formatPolicy: formatPolicy, calls: .live)
    }

    /// - Parameter calls: made for everything that is done with the file.
    package convenience init(
        at url: URL, onCorruption: CorruptionPolicy, lockTimeout: Duration, inPlace: InPlaceWriting = .never,
        formatPolicy: FormatPolicy = .keep, calls: FileSystemCalls
    ) {
        let path = Result { () throws(StorageError) in try AbsolutePath(of: url) }
        self.init(
            path, named: AbsolutePath.name(of: url), onCorruption: onCorruption, lockTimeout: lockTimeout, inPlace: inPlace,
            formatPolicy: formatPolicy, calls: calls)
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
        inPlace: InPlaceWriting = .never, formatPolicy: FormatPolicy = .keep, calls: FileSystemCalls
    ) {
        if case .success(let path) = path { self.name = path.text } else { self.name = name }
        self.path = path
        self.onCorruption = onCorruption
        self.lockTimeout = lockTimeout
        self.inPlace = inPlace
        self.formatPolicy = formatPolicy
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
        try restoreIfNeeded()
        if let content = try contentUnlessCorrupt(at: path.get().text) { return content.entries }
        return try withFileLock { try contentOrQuarantine(at: $0.path).entries }
    }

    /// Where the path leads now.
    func resolved() throws(StorageError) -> ResolvedPath {
        try ResolvedPath(path.get(), calls: calls)
    }

    /// True: an edit inside another one is made on its own.
    public var allowsNestedEdits: Bool { true }

    /// Does something with the real file while no other writer can.
    ///
    /// Inside of itself, which only an edit that ends the process does, it takes no second lock.
    private func withFileLock<Result>(_ body: (_ target: ResolvedPath) throws -> Result) throws -> Result {
        while true {
            let target = try lock.held ?? resolved()
            if let result = try withFileLock(of: target, { _ in try body(target) }) { return result }
        }
    }

    /// The same with one target; nil if that is not where the path leads any more.
    ///
    /// The lock that is passed is nil if it is held already.
    func withFileLock<Result>(of target: ResolvedPath, _ body: (_ lock: FileLock?) throws -> Result) throws -> Result? {
        if lock.held != nil { return try body(nil) }
        return try FileLock.withLock(for: target, timeout: lockTimeout, calls: calls) { fileLock in
            // A link may have been turned while the lock was waited for: its new target has a lock of its own.
            guard try resolved() == target else { return nil }
            return try lock.holding(target) { try body(fileLock) }
        }
    }

    /// Keeps what was read or written.
    func note(_ content: FileContent) {
        lastSeen.take { last in
            defer { last = content }
            return last
        }
        isXML.store(content.format == .xml, ordering: .relaxed)
    }

    func contentOrQuarantine(at path: String) throws(StorageError) -> FileContent {
        if let content = try contentUnlessCorrupt(at: path) { return content }
        try quarantine(path)
        return try content(at: path)
    }

    /// What the file holds, or nothing if it is bad and may be moved aside, which is so only before it was read for the first time.
    func contentUnlessCorrupt(at path: String) throws(StorageError) -> FileContent? {
        do throws(StorageError) {
            return try content(at: path)
        } catch {
            guard case .malformed = error, onCorruption == .quarantine, lastSeen.withLock({ $0 == nil }) else { throw error }
            return nil
        }
    }

    /// Removes what writers left behind that died in the middle of a write, and what this one could not remove.
    func sweep(_ target: ResolvedPath) throws(StorageError) {
        let isNeeded = remains.withLock { remains in
            defer { remains.temporaries = false }
            return remains.temporaries
        }
        guard isNeeded else { return }
        AtomicFile.removeLeftovers(of: target, calls: calls)
        if let copy = try inPlace.copy(of: target, calls: calls) { AtomicFile.removeLeftovers(of: copy, calls: calls) }
    }

    func encode(_ entries: StorageEntries, format: PropertyListFormat) throws(StorageError) -> (Data, PropertyListFormat) {
        do {
            return (try entries.encoded(as: format), format)
        } catch  where format == .xml && formatPolicy == .binaryWhenNecessary {
            return try encode(entries, format: .binary)
        } catch {
            throw refusal(of: entries, format: format, because: error)
        }
    }

    /// What is read again of a value: of a file that was XML when it was last seen, what XML can hold of it.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        guard isXML.load(ordering: .relaxed), formatPolicy == .keep else { return value }
        if let refusal = refusal(of: value, for: key, format: .xml) { throw refusal }
        return value.rounded(for: .xml)
    }

    /// Why a format cannot hold an entry; nil if it can.
    private func refusal(of value: PropertyListValue, for key: String, format: PropertyListFormat) -> StorageError? {
        do {
            _ = try PropertyListValue.dictionary([key: value]).encoded(as: format)
            return nil
        } catch {
            let remedy = format == .xml ? " (convert the file to binary, or open it with a policy that does so)" : ""
            return .unencodable(key: key, reason: "\(name) is \(format == .xml ? "XML" : "binary"), and \(error.reason)\(remedy)")
        }
    }

    /// Names the edit that cannot be written; what stood in the file before can.
    private func refusal(of entries: StorageEntries, format: PropertyListFormat, because error: PropertyListError) -> StorageError {
        for key in entries.editedKeys.sorted() {
            if let value = entries[key], let refusal = refusal(of: value, for: key, format: format) { return refusal }
        }
        return .unwritable(file: name, reason: error.description)
    }
}
