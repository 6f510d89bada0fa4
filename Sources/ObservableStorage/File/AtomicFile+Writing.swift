import Foundation

extension AtomicFile {
    /// Replaces a file's content, all at once, and returns the new file's identity when it is on the medium.
    ///
    /// The new file has the old one's owner and permissions; where there was none, it is this user's alone, and so are
    /// the folders made for it.
    ///
    /// A file that this user may not write, or that nobody may, is not replaced.
    ///
    /// - Throws: ``StorageError/unwritable(file:reason:)``. What was there before still is, with one exception: when only
    ///   the last step fails, synchronizing the folder, the new content stands in the file but may not outlive a power
    ///   failure.
    static func write(_ bytes: Data, to target: ResolvedPath, calls: FileSystemCalls = .live) throws(StorageError) -> FileIdentity {
        let old: FileStatus?
        do throws(SystemError) {
            old = try calls.status(at: target.path)
        } catch {
            throw .unwritable(file: target.path, reason: error.reason)
        }
        if let old { try requireWritable(old, at: target, calls: calls) }
        var replacement = FileReplacement(of: target, successorOf: old, calls: calls)
        do throws(SystemError) {
            return try replacement.write(bytes)
        } catch {
            throw .unwritable(
                file: target.path, reason: "\(error.reason) (\(replacement.step))", edits: replacement.isInPlace ? .notDurable : nil)
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

    /// Removes the temporary files of a path that were left behind by processes that ended while they wrote.
    ///
    /// Meant for a writer's first write, and for the next one after a write that failed, while it holds the path's lock: then no temporary
    /// file of its own, or with its own number from before a restart, is in use. What cannot be removed stays: it is in nobody's way.
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
            try calls.uninterrupted { () throws(SystemError) in try calls.removeFile(path) }
        } catch {
            // One that cannot be removed keeps none of the others.
        }
    }
}
