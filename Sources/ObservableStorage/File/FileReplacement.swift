import FoundationSubset

/// The replacement of a file by a temporary file beside it, which is written without a lock and renamed under the path's lock.
///
/// Ends with ``finish()`` or ``discard()``. Used by one thread at a time.
final class FileReplacement {
    private enum Progress {
        case prepared
        /// The old file cannot be replaced, because it is a mount point.
        case isMounted
        /// The path may have the new content, or a part of it.
        case isUncertain
        /// The path has the new content.
        case isInPlace
    }

    private let target: ResolvedPath
    private let old: FileStatus?
    private let base: FileIdentity?
    private let protection: FileProtection?
    private let calls: FileSystemCalls
    private var folder: Int32?
    /// The old file. While it is open, its inode number is not reused, and renaming does not delete it, which would take as long as
    /// everything else.
    private var replaced: Int32?
    /// The access control list of the new file; nil for none.
    private var acl: AccessControlList?
    private var temporary: TemporaryFile?
    private var progress = Progress.prepared
    /// The current operation, for the error if it fails.
    private var step = ""

    /// - Parameters:
    ///   - old: the file whose owner and permissions are set on the new file.
    ///   - base: the identity of the file that is replaced; nil if there is none.
    ///   - protection: the data protection if no file is replaced.
    init(
        of target: ResolvedPath, successorOf old: FileStatus?, over base: FileIdentity?, protection: FileProtection?, calls: FileSystemCalls
    ) {
        (self.target, self.old, self.base) = (target, old, base)
        (self.protection, self.calls) = (protection, calls)
    }

    /// The identity of the new file before it was renamed; nil after the end.
    var written: FileIdentity? { temporary?.written }

    /// Whether the path has the new content, or may have it.
    var isInPlace: Bool { progress == .isInPlace || progress == .isUncertain }

    /// Whether the old file cannot be replaced, because it is a mount point.
    var isMounted: Bool { progress == .isMounted }

    /// Writes the bytes to a temporary file, and returns when they are on the medium.
    func prepare(_ bytes: Data, isCopy: Bool = false) throws(StorageError) {
        try reporting { () throws(SystemError) in
            step = "opening the folder \(target.folder)"
            let folder = try calls.openFolder(of: target)
            self.folder = folder
            step = "the folder \(target.folder) is append-only, so that nothing in it can be replaced"
            // The temporary file could not be removed either.
            if calls.isAppendOnly(folder) { throw SystemError(EPERM) }
            step = "opening the present file, whose data protection has to be kept"
            if base != nil {
                replaced = try calls.openReplaced(target)
                acl = try calls.accessControlList(ofOpened: replaced, old)
            }
            let temporary = try TemporaryFile.make(beside: target, successorOf: old, acl: acl, calls: calls, step: &step)
            self.temporary = temporary
            if isCopy, acl != nil {
                step = "it cannot have the access control list of the file, which could not be restored from it"
                if try calls.status(of: temporary.descriptor).permissions != old?.permissions { throw SystemError(ENOTSUP) }
            }
            step = "setting the data protection of the temporary file"
            try calls.setProtection(of: temporary.descriptor, successorOf: replaced, orTo: protection)
            step = "writing the temporary file"
            try calls.writeAll(bytes, to: temporary.descriptor)
            step = "synchronizing the temporary file"
            try self.temporary?.synchronize(calls)
        }
    }

    /// Waits until the new name is on the medium.
    ///
    /// - Returns: the new file's identity, and whether any later write in place changes the identity.
    func finish() throws(StorageError) -> (identity: FileIdentity, isUnmistakable: Bool) {
        defer { close() }
        return try reporting { () throws(SystemError) in
            guard let folder, let result = temporary?.identityAfterRenaming(calls) else { throw SystemError(EBADF) }
            step = "synchronizing the folder \(target.folder)"
            try calls.synchronizeFolder(folder)
            return result
        }
    }

    /// Removes the temporary file, unless it was renamed. Has no effect after ``finish()``.
    ///
    /// - Returns: false if the temporary file could not be removed.
    @discardableResult
    func discard() -> Bool {
        defer { close() }
        guard let temporary, !isInPlace else { return true }
        return calls.discardFile(temporary.path)
    }

    private func close() {
        if let temporary { calls.discard(temporary.descriptor) }
        if let replaced { calls.closeLater(replaced) }
        if let folder { calls.discard(folder) }
        (temporary, replaced, folder) = (nil, nil, nil)
    }

    private func reporting<Result>(_ body: () throws(SystemError) -> Result) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            if !isInPlace, let error = calls.rules.pickedFileError(target.path, error) { throw error }
            let outcome: StorageError.EditOutcome? = isInPlace ? progress == .isInPlace ? .notDurable : .unknown : nil
            throw .unwritable(file: target.path, reason: "\(error.reason) (\(step))", edits: outcome)
        }
    }
}

// MARK: - Putting the new content in place

extension FileReplacement {
    /// Renames the new file to the path; returns false if another writer has changed or replaced the old one.
    ///
    /// Called under the path's lock. If another writer holds a different lock file, because one was removed, only one of them replaces the
    /// old file: each locks that file meanwhile, or the folder if there is none.
    func replace() throws(StorageError) -> Bool {
        try reporting { () throws(SystemError) in
            guard let temporary, let contested = replaced ?? folder else { return false }
            step = "renaming the temporary file"
            // A program that keeps the property list locked does not prevent the replacement.
            let isLocked = calls.tryLock(contested, pauses: FileSystemCalls.pausesForWriters)
            defer { if isLocked { calls.releaseLock(contested) } }
            guard try calls.status(at: target)?.identity == base else { return false }
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, target) }
            } catch let error where error.code == EBUSY {
                progress = .isMounted
                step = """
                    the file is mounted itself, as single files are in containers, and cannot be replaced: mount its folder instead, or open it with \
                    inPlaceWriting: .whenNecessary()
                    """
                throw error
            } catch {
                progress = progressOfFailedRename
                calls.discardFile(temporary.path)
                throw error
            }
            progress = .isInPlace
            // The next writer to replace it locks it.
            calls.releaseLock(temporary.descriptor)
            return true
        }
    }

    /// A file server may rename the file although its response is lost.
    private var progressOfFailedRename: Progress {
        calls.ifPossible { () throws(SystemError) -> Progress in
            guard let written, let found = try calls.status(at: target) else { return .prepared }
            return found.identity.isSameFile(as: written) ? .isInPlace : .prepared
        } ?? .isUncertain
    }

    /// Writes the new content into a file that cannot be replaced, and before that into a copy, from which
    /// ``FileSystemCalls/restore(_:from:)`` completes the write.
    ///
    /// Called under the path's lock. Other containers may use another lock file, so the file itself is locked as well.
    ///
    /// - Returns: false if the file was changed or replaced.
    func overwrite(_ bytes: Data, copy: ResolvedPath) throws(StorageError) -> Bool {
        guard let temporary, let replaced else { return false }
        let isLocked = calls.tryLock(replaced, pauses: FileSystemCalls.pausesForWriters)
        defer { if isLocked { calls.releaseLock(replaced) } }
        let isCurrent = try reporting { () throws(SystemError) in
            step = "another process has it locked"
            guard isLocked else { throw SystemError(EWOULDBLOCK) }
            return try calls.status(at: target)?.identity == base
        }
        guard isCurrent, let found = try calls.readFile(at: target), found.identity == base, try save(bytes, to: copy) else { return false }
        return try reporting { () throws(SystemError) in
            step = "writing into the file; when it is opened next, its new content is restored from \(copy.path)"
            defer { calls.discardFile(temporary.path) }
            progress = .isUncertain
            let descriptor = try calls.openFile(target, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
            var file = TemporaryFile(path: target, descriptor: descriptor, random: temporary.random)
            do throws(SystemError) {
                // The copy would be written into that file as well.
                guard try calls.isFile(descriptor, base) else {
                    step = "another file was put in its place; removing the copy \(copy.path)"
                    try calls.removeDurably(copy)
                    progress = .isMounted
                    throw SystemError(EBUSY)
                }
                do throws(SystemError) {
                    try calls.overwrite(descriptor, with: bytes)
                    try file.synchronize(calls)
                } catch {
                    if undo(descriptor, to: found.bytes, removing: copy) { (progress, step) = (.isMounted, "writing into the file") }
                    throw error
                }
                step = "removing the copy \(copy.path)"
                try calls.removeDurably(copy)
            } catch {
                calls.discard(descriptor)
                throw error
            }
            calls.discard(temporary.descriptor)
            (self.temporary, progress) = (file, .isInPlace)
            return true
        }
    }

    /// Writes the previous content back, so that the file does not have to be restored, for which its file system may have no room.
    private func undo(_ descriptor: Int32, to previous: Data, removing copy: ResolvedPath) -> Bool {
        calls.ifPossible { () throws(SystemError) -> Void in
            try calls.overwrite(descriptor, with: previous)
            try calls.synchronize(descriptor)
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(copy) }
            calls.ifPossible { () throws(SystemError) in try calls.synchronizeFolder(of: copy) }
        } != nil
    }

    private func save(_ bytes: Data, to copy: ResolvedPath) throws(StorageError) -> Bool {
        if try calls.makeFolderIfMissing(of: copy) { return false }
        let saved = FileReplacement(of: copy, successorOf: old, over: nil, protection: protection, calls: calls)
        saved.acl = acl
        defer { saved.discard() }
        do throws(StorageError) {
            try saved.prepare(bytes, isCopy: true)
            guard try saved.replace() else { return false }
            _ = try saved.finish()
            return true
        } catch {
            guard case .unwritable(_, let reason, _) = error else { throw error }
            let isLeft = saved.isInPlace && calls.ifPossible({ () throws(SystemError) in try calls.removeDurably(copy) }) == nil
            let outcome: StorageError.EditOutcome? = isLeft ? .unknown : nil
            throw .unwritable(file: target.path, reason: "its copy \(copy.path) cannot be written: \(reason)", edits: outcome)
        }
    }
}
