public import FoundationSubset

/// Whether a file that cannot be replaced because it is a mount point, as a single file in a container is, is written in place.
///
/// During the write, a copy of the new content exists beside the file, or in a given folder, from which the next process that opens the
/// file restores it if the writer died. Readers that do not support this may read a part of the file; those of this library read it again.
///
/// All writers of the file need the same folder for copies: otherwise a remaining copy is not found by the others, and would undo their
/// later writes. That folder has to exist as long as the file does, which the one beside it in a container may not.
public enum InPlaceWriting: Sendable, Hashable {
    /// Writing throws an error with the reason.
    case never
    /// It is written in place, with a copy in a folder, which the first write creates; beside it if that is nil.
    case whenNecessary(copyIn: URL? = nil)

    /// The path of the copy of a file; nil if it is never written in place.
    func copy(of target: ResolvedPath, calls: FileSystemCalls) throws(StorageError) -> ResolvedPath? {
        guard case .whenNecessary(let folder) = self else { return nil }
        guard let folder else { return target.copy }
        do throws(StorageError) {
            let found = try ResolvedPath(AbsolutePath(folder.path, calls: calls), calls: calls)
            let copies = try calls.reading(found.path) { () throws(SystemError) in
                try calls.ifPresent { () throws(SystemError) in try calls.enter(found) }
            }
            return copies.map { ResolvedPath(target.nameOfCopy, in: $0) } ?? ResolvedPath(target.nameOfCopy, in: found.path)
        } catch {
            throw .unreadable(file: target.path, reason: "the folder for its copies cannot be followed: \(error)")
        }
    }
}

extension FileSystemCalls {
    /// Completes the write of a writer that died while it wrote a file in place: writes the content of the copy into the file, and removes
    /// the copy.
    ///
    /// Called under the path's lock. A writer with another lock file may be alive: it keeps the file itself locked. The copy has the file's
    /// owner and permissions; one that does not was not created by a writer of the file.
    func restore(_ target: ResolvedPath, from copy: ResolvedPath) throws(StorageError) {
        let known = try reading(target.path) { () throws(SystemError) in try status(at: copy) == nil ? nil : try status(at: target) }
        guard let known, known.kind == .file else { return }
        let step = "restoring it from \(copy.path)"
        let descriptor = try writing(target.path, step) { () throws(SystemError) in
            try openFile(target, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
        }
        defer { discard(descriptor) }
        guard tryLock(descriptor, pauses: Self.pausesForWriters) else {
            throw .unreadable(file: target.path, reason: "it is not restored from the copy \(copy.path): another process has it locked")
        }
        defer { releaseLock(descriptor) }
        let (saved, old) = try reading(target.path) { () throws(SystemError) in (try status(at: copy), try status(of: descriptor)) }
        // Its writer has completed the write meanwhile.
        guard let saved else { return }
        guard saved.kind == .file, saved.links == 1, saved.hasSameAccess(as: old) else {
            let reason = "the copy \(copy.path) that it should be restored from does not have its owner and permissions; move that away"
            throw .unreadable(file: target.path, reason: reason)
        }
        // Restoring it would write into whatever file another user has linked there.
        guard old.links == 1 else {
            let reason = "it has \(old.links) names, and is not restored from the copy \(copy.path); remove the others or the copy"
            throw .unreadable(file: target.path, reason: reason)
        }
        guard let (bytes, identity) = try readFile(at: copy) else { return }
        guard identity == saved.identity else {
            throw .unreadable(file: target.path, reason: "the copy \(copy.path) was changed while the file was restored from it")
        }
        try writing(target.path, step) { () throws(SystemError) in
            guard old.identity.isSameFile(as: known.identity) else { throw SystemError(EBUSY) }
            try overwrite(descriptor, with: bytes)
            try uninterrupted { () throws(SystemError) in try synchronize(descriptor) }
            try removeDurably(copy)
        }
    }
}
