import FoundationSubset

/// The replacement of a file by a temporary file beside it, which is written without a lock and renamed under the path's lock.
///
/// Ends with ``finish()`` or ``discard()``. Used by one thread at a time.
final class FileReplacement {
    private let target: ResolvedPath
    private let old: FileStatus?
    private let base: FileIdentity?
    private let protection: FileProtection?
    private let calls: FileSystemCalls
    private var folder: Int32?
    /// The file that is replaced. While open, it keeps its inode number, and is not deleted by renaming, which would take as long as all
    /// the rest.
    private var replaced: Int32?
    private var temporary: (path: ResolvedPath, descriptor: Int32)?
    /// The new file as it was written.
    private(set) var written: FileIdentity?
    /// The modification time that was set on the new file.
    private var stamp: Int64?
    private var salt: UInt64 = 0
    /// The current operation, for the error if it fails.
    private var step = ""
    /// Whether the new file has been renamed to the path, or may have been.
    private(set) var isInPlace = false
    private var isRenamed = false
    /// Whether the old file cannot be replaced because it is a mount point.
    private(set) var isMounted = false

    // A name has 64 random bits, so that several consecutive collisions are not accidental.
    private static let mostNames = 8
    // Longer than any writer takes between comparing the identity and renaming.
    private static let mostPauses = 20
    private static let mostPausesForWriters = 2_000

    /// - Parameters:
    ///   - old: the file whose owner and permissions are set on the new file.
    ///   - base: the identity of the file that is replaced; nil if there is none.
    ///   - protection: the data protection if no file is replaced.
    init(
        of target: ResolvedPath, successorOf old: FileStatus?, over base: FileIdentity?, protection: FileProtection?, calls: FileSystemCalls
    ) {
        self.target = target
        self.old = old
        self.base = base
        self.protection = protection
        self.calls = calls
    }

    /// Writes the bytes to a temporary file, and returns when they are on the medium.
    func prepare(_ bytes: Data) throws(StorageError) {
        try reporting { () throws(SystemError) in
            step = "opening the folder \(target.folder)"
            let folder = try calls.openFolder(of: target)
            self.folder = folder
            step = "the folder \(target.folder) is append-only, so that nothing in it can be replaced"
            // The temporary file could not be removed either.
            if calls.isAppendOnly(folder, target.folder) { throw SystemError(EPERM) }
            step = "opening the present file, whose data protection has to be kept"
            replaced = try openOld()
            let temporary = try createTemporary()
            self.temporary = temporary
            try fill(temporary.descriptor, with: bytes)
        }
    }

    /// Renames the new file to the path; returns false if another writer has changed or replaced the old one.
    ///
    /// Called under the path's lock. If another writer holds a different lock file, because one was removed, only one of them replaces the
    /// old file: each locks that file meanwhile, or the folder if there is none.
    func replace() throws(StorageError) -> Bool {
        try reporting { () throws(SystemError) in
            guard let temporary, let contested = replaced ?? folder else { return false }
            step = "renaming the temporary file \(temporary.path.path)"
            let isTaken = take(contested)
            defer { if isTaken { calls.releaseLock(contested) } }
            guard try calls.status(at: target)?.identity == base else { return false }
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, target) }
            } catch let error where error.code == EBUSY {
                isMounted = true
                step = """
                    the file is mounted itself, as single files are in containers, and cannot be replaced: mount its folder instead, or open it with \
                    inPlace: .whenNecessary
                    """
                throw error
            } catch {
                // A file server may rename the file although its response is lost.
                isInPlace = isAtTarget(written)
                calls.discardFile(temporary.path)
                throw error
            }
            isInPlace = true
            isRenamed = true
            // The next writer to replace it locks it.
            calls.releaseLock(temporary.descriptor)
            return true
        }
    }

    /// Writes the new content into a file that cannot be replaced, and before that into a copy, from which
    /// ``FileSystemCalls/restore(_:from:)`` completes the write.
    ///
    /// Called under the path's lock. Other containers may use another lock file, so the file itself is locked as well.
    ///
    /// - Returns: false if the file was changed or replaced.
    func overwrite(_ bytes: Data, copy: ResolvedPath) throws(StorageError) -> Bool {
        guard let temporary, let replaced else { return false }
        let isTaken = take(replaced, pauses: Self.mostPausesForWriters)
        defer { if isTaken { calls.releaseLock(replaced) } }
        let isCurrent = try reporting { () throws(SystemError) in
            step = "another process has it locked"
            guard isTaken else { throw SystemError(EWOULDBLOCK) }
            return try calls.status(at: target)?.identity == base
        }
        guard isCurrent else { return false }
        guard try save(bytes, to: copy) else { return false }
        return try reporting { () throws(SystemError) in
            step = "writing into the file; its new content is in \(copy.path), which it is restored from when it is opened next"
            let descriptor = try calls.openFile(target, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
            do throws(SystemError) {
                isInPlace = true
                try calls.overwrite(descriptor, with: bytes)
                stamp = stamp(descriptor)
                try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
                written = try calls.status(of: descriptor).identity
                step = "removing the copy \(copy.path)"
                try calls.removeDurably(copy)
            } catch {
                calls.discard(descriptor)
                calls.discardFile(temporary.path)
                throw error
            }
            calls.discard(temporary.descriptor)
            calls.discardFile(temporary.path)
            self.temporary = (target, descriptor)
            isRenamed = true
            return true
        }
    }

    private func save(_ bytes: Data, to copy: ResolvedPath) throws(StorageError) -> Bool {
        if try calls.makeFolderIfMissing(of: copy) { return false }
        let saved = FileReplacement(of: copy, successorOf: old, over: nil, protection: protection, calls: calls)
        defer { saved.discard() }
        do throws(StorageError) {
            try saved.prepare(bytes)
            guard try saved.replace() else { return false }
            _ = try saved.finish()
            return true
        } catch {
            guard case .unwritable(_, let reason, _) = error else { throw error }
            throw .unwritable(file: target.path, reason: "its copy \(copy.path) cannot be written: \(reason)")
        }
    }

    /// Waits until the new name is on the medium.
    ///
    /// - Returns: the new file's identity, and whether any later write in place changes the identity.
    func finish() throws(StorageError) -> (identity: FileIdentity, isUnmistakable: Bool) {
        defer { close() }
        return try reporting { () throws(SystemError) in
            guard let written, let temporary, let folder else { throw SystemError(EBADF) }
            let identity = identity(of: temporary.descriptor, asWritten: written)
            step = "synchronizing the folder \(target.folder)"
            try calls.synchronizeFolder(folder)
            return (identity, identity.modified == stamp)
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
            if !isRenamed, let error = calls.rules.pickedFileError(target.path, error) { throw error }
            throw .unwritable(file: target.path, reason: "\(error.reason) (\(step))", edits: isRenamed ? .notDurable : nil)
        }
    }
}

// MARK: - The temporary file

extension FileReplacement {
    private func openOld() throws(SystemError) -> Int32? {
        guard base != nil else { return nil }
        do throws(SystemError) {
            return try calls.openFile(target, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        } catch let error where error.code == EPERM {
            // The device is locked, and the protection of the file, which has to be kept, cannot be read.
            throw error
        } catch {
            // Otherwise renaming takes longer.
            return nil
        }
    }

    /// Creates a temporary file and locks it while it is in use: other processes remove one that they can lock.
    private func createTemporary() throws(SystemError) -> (path: ResolvedPath, descriptor: Int32) {
        var namesLeft = Self.mostNames
        while true {
            salt = calls.random()
            let path = target.temporaryFile(process: getpid(), random: salt)
            step = "making the temporary file \(path.path)"
            namesLeft -= 1
            do throws(SystemError) {
                let descriptor = try calls.openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, firstPermissions)
                if try lockTemporary(descriptor, at: path) { return (path, descriptor) }
                calls.discard(descriptor)
                if namesLeft == 0 { throw SystemError(EBUSY) }
            } catch let error where error.code == EEXIST && namesLeft > 0 {
                continue
            }
        }
    }

    /// Locks a new temporary file; returns false if another process removed it before.
    private func lockTemporary(_ descriptor: Int32, at path: ResolvedPath) throws(SystemError) -> Bool {
        guard take(descriptor, pauses: 0) else { return false }
        do throws(SystemError) {
            return try calls.status(of: descriptor).links > 0
        } catch {
            calls.discard(descriptor)
            calls.discardFile(path)
            throw error
        }
    }

    /// Accessible to this user only until the file has its owner and group, unless the final permissions allow everybody to read it:
    /// permissions that are not changed later cause no event for watchers of the folder.
    private var firstPermissions: mode_t {
        guard let old, old.permissions & 0o044 == 0o044 else { return 0o600 }
        return 0o644
    }

    private func fill(_ descriptor: Int32, with bytes: Data) throws(SystemError) {
        step = "setting the owner and permissions of the temporary file"
        try calls.setAccess(of: descriptor, to: old?.permissions ?? 0o600, successorOf: old)
        step = "setting the data protection of the temporary file"
        try calls.setProtection(of: descriptor, successorOf: replaced, orTo: protection)
        step = "writing the temporary file"
        try calls.writeAll(bytes, to: descriptor)
        stamp = stamp(descriptor)
        step = "synchronizing the temporary file"
        try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
        written = try calls.status(of: descriptor).identity
    }

    /// Sets a modification time between two ticks of the file system's clock, shortly before the current time, and returns it.
    ///
    /// Any later write changes it, even within the same tick: while it is unchanged, the file need not be read again. On a file system that
    /// stores times with a lower resolution, the time that is read later differs.
    private func stamp(_ descriptor: Int32) -> Int64? {
        do throws(SystemError) {
            let stamp = try calls.status(of: descriptor).identity.modified - 1 - Int64(salt % 99_991)
            try calls.setModificationTime(descriptor, stamp)
            return stamp
        } catch {
            return nil
        }
    }

    /// The identity after renaming, which has changed the inode's status change time.
    ///
    /// If another process has changed the file already, or its status is unavailable, it is the identity before renaming, which no file has
    /// any longer, so that the next comparison finds a difference.
    private func identity(of descriptor: Int32, asWritten written: FileIdentity) -> FileIdentity {
        do throws(SystemError) {
            let now = try calls.status(of: descriptor).identity
            return now.hasSameContent(as: written) ? now : written
        } catch {
            // The content is on the medium, so writing has not failed.
            return written
        }
    }
}

// MARK: - Other writers

extension FileReplacement {
    /// Locks an open file or folder, waiting a short time. Returns true also if locks are not supported.
    private func take(_ descriptor: Int32, pauses: Int = mostPauses) -> Bool {
        for pause in 0...pauses {
            if pause > 0 { calls.pause(.milliseconds(1)) }
            if calls.tryLock(descriptor, otherwise: true) { return true }
        }
        // A program that keeps the property list locked does not affect this.
        return false
    }

    private func isAtTarget(_ file: FileIdentity?) -> Bool {
        do throws(SystemError) {
            guard let file, let there = try calls.status(at: target) else { return false }
            return there.identity.isSameFile(as: file)
        } catch {
            return true
        }
    }
}
