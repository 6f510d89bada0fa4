import Foundation

/// One replacement of a file by another that is written beside it: prepared without a lock, and put in place under the path's.
///
/// It ends with ``finish()`` or ``discard()``. Used by one thread at a time.
final class FileReplacement {
    private let target: ResolvedPath
    private let old: FileStatus?
    private let base: FileIdentity?
    private let calls: FileSystemCalls
    private let names: SideFileName
    private var folder: Int32?
    /// The file that is replaced. Being open, it keeps its inode number, and is not deleted by the rename, which would take as long as all the rest.
    private var replaced: Int32?
    private var temporary: (path: String, descriptor: Int32)?
    private var written: FileIdentity?
    private var stamp: Int64?
    private var salt: UInt64 = 0
    /// What is being done, for the error when it fails.
    private var step = ""
    /// Whether the new file has the name, or may have it.
    private(set) var isInPlace = false
    private var isRenamed = false
    /// Whether the old file cannot be replaced, because it is mounted itself.
    private(set) var isMounted = false

    // A name has 64 random bits: one that is taken is bad luck once, and something else after that.
    private static let mostNames = 8
    // Longer than any writer takes between its look at the file and its rename.
    private static let mostPauses = 20
    private static let mostPausesForWriters = 2_000

    /// - Parameters:
    ///   - old: whose owner and permissions the new file gets.
    ///   - base: the file that is replaced; nil for none.
    init(of target: ResolvedPath, successorOf old: FileStatus?, over base: FileIdentity?, calls: FileSystemCalls) {
        self.target = target
        self.old = old
        self.base = base
        self.calls = calls
        names = SideFileName(of: target.name)
    }

    /// Writes the bytes to a temporary file, and returns when they are on the medium.
    func prepare(_ bytes: Data) throws(StorageError) {
        try reporting { () throws(SystemError) in
            step = "opening the folder \(target.folder)"
            let folder = try calls.openFolder(target.folder)
            self.folder = folder
            step = "the folder \(target.folder) is append-only, so that nothing in it can be replaced"
            // Nor could the temporary file be removed again.
            if calls.isAppendOnly(folder, target.folder) { throw SystemError(EPERM) }
            replaced = openOld()
            let temporary = try makeTemporary()
            self.temporary = temporary
            try fill(temporary.descriptor, with: bytes)
        }
    }

    /// Gives the new file the name, unless somebody else has changed or replaced the old one.
    ///
    /// Called under the path's lock. Should another writer have a lock of its own, because the lock file was removed, only one of them replaces
    /// the old file: both have it locked meanwhile, or the folder if there is none.
    func place() throws(StorageError) -> Bool {
        try reporting { () throws(SystemError) in
            guard let temporary, let contested = replaced ?? folder else { return false }
            step = "renaming the temporary file \(temporary.path)"
            let isTaken = take(contested)
            defer { if isTaken { release(contested) } }
            guard try calls.status(at: target.path)?.identity == base else { return false }
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, target.path) }
            } catch let error where error.code == EBUSY {
                isMounted = true
                step = """
                    the file is mounted itself, as single files are in containers, and cannot be replaced: mount its folder instead, or open it with \
                    inPlace: .whenNecessary
                    """
                throw error
            } catch {
                // A file server may do what it is asked to and lose the answer.
                isInPlace = isNamed(written)
                remove(temporary.path)
                throw error
            }
            isInPlace = true
            isRenamed = true
            // Whoever replaces it next locks it.
            release(temporary.descriptor)
            return true
        }
    }

    /// Writes the new content into a file that cannot be replaced, after a copy of it that ``AtomicFile/restore(_:from:calls:)`` finishes that with.
    ///
    /// Called under the path's lock. In other containers, that may be another file's; so the file itself is locked too.
    ///
    /// - Returns: false if the file was changed or replaced.
    func overwrite(_ bytes: Data, copy: ResolvedPath) throws(StorageError) -> Bool {
        guard let temporary, let replaced else { return false }
        let isTaken = take(replaced, pauses: Self.mostPausesForWriters)
        defer { if isTaken { release(replaced) } }
        let isCurrent = try reporting { () throws(SystemError) in
            step = "another process has it locked"
            guard isTaken else { throw SystemError(EWOULDBLOCK) }
            return try calls.status(at: target.path)?.identity == base
        }
        guard isCurrent else { return false }
        guard try save(bytes, to: copy) else { return false }
        return try reporting { () throws(SystemError) in
            step = "writing into the file; its new content is in \(copy.path), which it is restored from when it is opened next"
            let descriptor = try calls.openFile(target.path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
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
                remove(temporary.path)
                throw error
            }
            calls.discard(temporary.descriptor)
            remove(temporary.path)
            self.temporary = (target.path, descriptor)
            isRenamed = true
            return true
        }
    }

    private func save(_ bytes: Data, to copy: ResolvedPath) throws(StorageError) -> Bool {
        let saved = FileReplacement(of: copy, successorOf: old, over: nil, calls: calls)
        defer { saved.discard() }
        do throws(StorageError) {
            try saved.prepare(bytes)
            guard try saved.place() else { return false }
            _ = try saved.finish()
            return true
        } catch {
            guard case .unwritable(_, let reason, _) = error else { throw error }
            throw .unwritable(file: target.path, reason: "its copy \(copy.path) cannot be written: \(reason)")
        }
    }

    /// Returns when the new name is on the medium: with the new file's identity, and whether whatever is written to it in place later changes that.
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

    /// Removes what was written, unless it is in place; does nothing after ``finish()``.
    ///
    /// - Returns: false if something is left.
    @discardableResult
    func discard() -> Bool {
        defer { close() }
        guard let temporary, !isInPlace else { return true }
        return remove(temporary.path)
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
            throw .unwritable(file: target.path, reason: "\(error.reason) (\(step))", edits: isRenamed ? .notDurable : nil)
        }
    }
}

// MARK: - The temporary file

extension FileReplacement {
    private func openOld() -> Int32? {
        guard base != nil else { return nil }
        do throws(SystemError) {
            return try calls.openFile(target.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        } catch {
            // The rename takes longer then.
            return nil
        }
    }

    /// Makes a temporary file, locked for as long as it is in use: what can be locked was left behind, and is removed by others.
    private func makeTemporary() throws(SystemError) -> (path: String, descriptor: Int32) {
        var namesLeft = Self.mostNames
        while true {
            salt = calls.random()
            let path = target.sibling(names.temporary(process: getpid(), random: salt))
            step = "making the temporary file \(path)"
            namesLeft -= 1
            do throws(SystemError) {
                let descriptor = try calls.openFile(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, firstPermissions)
                if try isKept(descriptor, at: path) { return (path, descriptor) }
                calls.discard(descriptor)
                if namesLeft == 0 { throw SystemError(EBUSY) }
            } catch let error where error.code == EEXIST && namesLeft > 0 {
                continue
            }
        }
    }

    /// Locks a new temporary file; false if it was taken for a leftover before that.
    private func isKept(_ descriptor: Int32, at path: String) throws(SystemError) -> Bool {
        guard take(descriptor, pauses: 0) else { return false }
        do throws(SystemError) {
            return try calls.status(of: descriptor).links > 0
        } catch {
            calls.discard(descriptor)
            remove(path)
            throw error
        }
    }

    /// This user's alone until the file has its owner and group, unless everybody may read it then: what need not be changed later is told to
    /// nobody who watches the folder.
    private var firstPermissions: mode_t {
        guard let old, old.permissions & 0o044 == 0o044 else { return 0o600 }
        return 0o644
    }

    private func fill(_ descriptor: Int32, with bytes: Data) throws(SystemError) {
        step = "setting the owner and permissions of the temporary file"
        try calls.setAccess(of: descriptor, to: old?.permissions ?? 0o600, successorOf: old)
        step = "writing the temporary file"
        try calls.writeAll(bytes, to: descriptor)
        stamp = stamp(descriptor)
        step = "synchronizing the temporary file"
        try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
        written = try calls.status(of: descriptor).identity
    }

    /// Gives the new file a time of modification that no clock of a file system shows, a little before the true one, and returns it.
    ///
    /// Whoever writes to it later changes that, also within the clock's tick: as long as it stands, nobody has, and nothing has to be read again.
    /// Where times are not kept that exactly, it is not found again.
    private func stamp(_ descriptor: Int32) -> Int64? {
        do throws(SystemError) {
            let stamp = try calls.status(of: descriptor).identity.modified - 1 - Int64(salt % 99_991)
            try calls.setModificationTime(descriptor, stamp)
            return stamp
        } catch {
            return nil
        }
    }

    /// The identity after the rename, which has changed the inode's time.
    ///
    /// If someone else has already changed the file, or it cannot be looked at, it is the one from before the rename, which no file has: the next look
    /// shows a difference.
    private func identity(of descriptor: Int32, asWritten written: FileIdentity) -> FileIdentity {
        do throws(SystemError) {
            let now = try calls.status(of: descriptor).identity
            return now.hasSameContent(as: written) ? now : written
        } catch {
            // The content is on the medium, so this is no failure to write it.
            return written
        }
    }
}

// MARK: - What others do meanwhile

extension FileReplacement {
    /// Locks an open file or folder, waiting a little; true also where there are no locks.
    private func take(_ descriptor: Int32, pauses: Int = mostPauses) -> Bool {
        for pause in 0...pauses {
            if pause > 0 { calls.pause(.milliseconds(1)) }
            do throws(SystemError) {
                try calls.uninterrupted { () throws(SystemError) in try calls.lock(descriptor) }
                return true
            } catch let error where error.code == EWOULDBLOCK {
                continue
            } catch {
                return true
            }
        }
        // A program that keeps the property list itself locked has no part in this.
        return false
    }

    private func release(_ descriptor: Int32) {
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.unlock(descriptor) }
        } catch {
            // Closing lets go of it as well.
        }
    }

    private func isNamed(_ file: FileIdentity?) -> Bool {
        do throws(SystemError) {
            guard let file, let there = try calls.status(at: target.path) else { return false }
            return there.identity.isSameFile(as: file)
        } catch {
            return true
        }
    }

    @discardableResult
    private func remove(_ path: String) -> Bool {
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(path) }
            return true
        } catch {
            // The error that led here is the one to report; a later write removes what is left.
            return false
        }
    }
}
