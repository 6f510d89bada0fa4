import Foundation

extension FileSystemCalls {
    /// Opens a folder, making it and those above it where they are missing: for this user only, whatever the umask. No link is followed: the
    /// path was resolved before.
    func openFolder(_ path: String) throws(SystemError) -> Int32 {
        do throws(SystemError) {
            return try openFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        } catch let error where error.code == ENOENT && path != "/" {
            let parent = try openFolder(Self.parent(of: path))
            defer { discard(parent) }
            try makeMissingFolder(path)
            do throws(SystemError) {
                // Without it, a power failure could take the folder away with all that is in it.
                try synchronizeFolder(parent)
            } catch {
                // Whoever finds it there later would take it for one that stays.
                removeIfEmpty(path)
                throw error
            }
            return try openFile(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        }
    }

    private static func parent(of path: String) -> String {
        let parent = path.utf8.prefix(upTo: path.utf8.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)
        return parent.isEmpty ? "/" : String(Substring(parent))
    }

    private func makeMissingFolder(_ path: String) throws(SystemError) {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try makeFolder(path, 0o700) }
        } catch let error where error.code == EEXIST {
            return
        }
        // Whoever may rename what is in the folder above may have put another one in its place by now.
        guard let made = try status(at: path), made.kind == .folder, made.owner == geteuid(), made.permissions != 0o700 else { return }
        try ifAllowed { () throws(SystemError) in try setPermissionsOfPath(path, 0o700) }
    }

    private func removeIfEmpty(_ folder: String) {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try removeEmptyFolder(folder) }
        } catch {
            // Another process uses it already, or the error that led here is the one to report.
        }
    }

    /// Waits until the names in a folder are on the medium.
    func synchronizeFolder(_ descriptor: Int32) throws(SystemError) {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try synchronize(descriptor) }
        } catch let error where error.code == EINVAL || error.code == ENOTSUP {
            // Such a file system offers no way to do it, and never will.
        }
    }

    /// Gives a file that was just made, and is empty, the permissions it is to have, whatever the umask.
    ///
    /// As the successor of another file it gets that file's owner and group, as far as this user may give them. Where the
    /// group cannot be kept, group and others get only what both had: nobody gets more than before.
    func setAccess(of descriptor: Int32, to permissions: mode_t, successorOf old: FileStatus?) throws(SystemError) {
        let own = try status(of: descriptor)
        var permissions = permissions
        if let old, try !setOwner(of: descriptor, own, like: old) {
            permissions = FileStatus.commonPermissions(permissions)
        }
        guard own.permissions != permissions else { return }
        // A file system without permissions refuses; whoever mounted it decided who may read what is there.
        try ifAllowed { () throws(SystemError) in try setPermissions(descriptor, permissions) }
    }

    /// Gives an open file another's owner and group, or the group alone; false if not even that.
    private func setOwner(of descriptor: Int32, _ own: FileStatus, like old: FileStatus) throws(SystemError) -> Bool {
        guard (own.owner, own.group) != (old.owner, old.group) else { return true }
        if try ifAllowed({ () throws(SystemError) in try setOwner(descriptor, old.owner, old.group) }) || own.group == old.group {
            return true
        }
        return try ifAllowed { () throws(SystemError) in try setOwner(descriptor, .max, old.group) }
    }

    /// Makes a call; false if this user or this file system does not get it.
    @discardableResult
    func ifAllowed(_ call: () throws(SystemError) -> Void) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try uninterrupted(call)
            return true
        } catch let error where error.isDenied {
            return false
        }
    }
}
