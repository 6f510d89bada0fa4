import Foundation

extension AtomicFile {
    /// Writes the content that is to replace a file's to a temporary file beside it, and returns when it is on the medium.
    ///
    /// The new file has the old one's owner and permissions; where there is none, it is this user's alone, and so are the folders made for it.
    ///
    /// A file that this user may not write, or that nobody may, is not replaced.
    ///
    /// - Parameter base: the file that is to be replaced, as it was when it was read; nil for none. Its owner and permissions are those of the
    ///   file that the content was made of.
    /// - Returns: nil if the file is not that one any more.
    static func prepare(
        _ bytes: Data, for target: ResolvedPath, over base: FileIdentity?, calls: FileSystemCalls = .live
    ) throws(StorageError) -> FileReplacement? {
        let old: FileStatus?
        do throws(SystemError) {
            old = try calls.status(at: target.path)
        } catch {
            throw .unwritable(file: target.path, reason: error.reason)
        }
        if let old { try requireWritable(old, at: target, calls: calls) }
        guard old?.identity == base else { return nil }
        let replacement = FileReplacement(of: target, successorOf: old, over: base, calls: calls)
        do throws(StorageError) {
            try replacement.prepare(bytes)
            return replacement
        } catch {
            replacement.discard()
            throw error
        }
    }

    /// Finishes what a writer began that died while it wrote into a file in place: gives the file the content of the copy, and removes that.
    ///
    /// Called under the path's lock. The copy has the file's owner and permissions; one that does not is somebody else's.
    static func restore(_ target: ResolvedPath, from copy: ResolvedPath, calls: FileSystemCalls = .live) throws(StorageError) {
        let saved: FileStatus?
        let old: FileStatus?
        do throws(SystemError) {
            saved = try calls.status(at: copy.path)
            old = try calls.status(at: target.path)
        } catch {
            throw .unreadable(file: target.path, reason: error.reason)
        }
        guard let saved, let old, old.kind == .file else { return }
        guard saved.kind == .file, saved.links == 1, saved.hasSameAccess(as: old) else {
            let reason = "the copy \(copy.path) that it should be restored from does not have its owner and permissions; move that away"
            throw .unreadable(file: target.path, reason: reason)
        }
        guard let (bytes, _) = try read(path: copy.path, calls: calls) else { return }
        do throws(SystemError) {
            let descriptor = try calls.openFile(target.path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW)
            defer { calls.discard(descriptor) }
            try calls.overwrite(descriptor, with: bytes)
            try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
            try calls.removeDurably(copy)
        } catch {
            throw .unwritable(file: target.path, reason: "\(error.reason) (restoring it from \(copy.path))")
        }
    }

    /// Refuses to replace what is no file, and a file that may not be written in place either: that its folder may be written is no leave
    /// to change it.
    private static func requireWritable(
        _ old: FileStatus, at target: ResolvedPath, calls: FileSystemCalls
    ) throws(StorageError) {
        if let objection = old.kind.objection ?? old.writingObjection {
            throw .unwritable(file: target.path, reason: objection)
        }
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.checkWriting(target.path) }
        } catch let error where error.isMissing {
            // Someone took it away just now: it is made anew.
        } catch {
            throw .unwritable(file: target.path, reason: "\(error.reason) (the file may not be written)")
        }
    }

    /// Removes the temporary files of a path that were left behind by writers that ended while they wrote.
    ///
    /// A writer has its temporary file locked for as long as it needs it. What cannot be removed stays: it is in nobody's way.
    static func removeLeftovers(of target: ResolvedPath, calls: FileSystemCalls = .live) {
        do {
            let names = SideFileName(of: target.name)
            for name in try calls.list(target.folder) {
                guard let process = names.process(ofTemporary: name), process == getpid() || !calls.isRunning(process) else { continue }
                removeLeftover(target.sibling(name), calls: calls)
            }
        } catch {
            // Cleaning up is no reason for a write to fail; the next process tries again.
        }
    }

    private static func removeLeftover(_ path: String, calls: FileSystemCalls) {
        do throws(SystemError) {
            guard try !isInUse(path, calls: calls) else { return }
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(path) }
        } catch {
            // One that cannot be removed keeps none of the others.
        }
    }

    /// Whether a writer has a temporary file locked: the number of its process may be another one's in another container.
    private static func isInUse(_ path: String, calls: FileSystemCalls) throws(SystemError) -> Bool {
        guard try calls.status(at: path)?.kind == .file else { return false }
        let descriptor = try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW)
        // Whoever is about to lock it sees that it has no name any more.
        defer { calls.discard(descriptor) }
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.lock(descriptor) }
            return false
        } catch let error where error.code == EWOULDBLOCK {
            return true
        } catch {
            return false
        }
    }
}
