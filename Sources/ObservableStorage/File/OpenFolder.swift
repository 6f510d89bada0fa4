import FoundationSubset
import PropertyListCoding

/// An open folder, in which names are looked up even if its path leads elsewhere meanwhile.
package final class OpenFolder: Sendable {
    /// The path at which it was opened, without links.
    let path: String
    /// Only for looking up names: the folder can be neither read nor synchronized with it.
    let descriptor: Int32
    private let calls: FileSystemCalls
    private let known = Lock<FileIdentity?>(nil)

    fileprivate init(_ path: String, _ descriptor: Int32, _ calls: FileSystemCalls) {
        (self.path, self.descriptor, self.calls) = (path, descriptor, calls)
    }

    deinit {
        calls.discard(descriptor)
    }

    /// Whether it is a folder that was examined. Its device and its inode do not change while it is open, and are read once: also those of a
    /// folder on a file server that has become stale.
    func isSame(as examined: FileStatus?) throws(SystemError) -> Bool {
        guard let examined else { return false }
        if let known = known.withLock({ $0 }) { return known.isSameFile(as: examined.identity) }
        let own = try calls.status(of: descriptor).identity
        known.exchange(own)
        return own.isSameFile(as: examined.identity)
    }
}

extension FileSystemCalls {
    /// Opens a folder; throws if it is a link.
    func enter(_ folder: ResolvedPath) throws(SystemError) -> OpenFolder {
        OpenFolder(folder.path, try openFile(folder, lookUpOnly | O_DIRECTORY | O_NOFOLLOW), self)
    }

    private func enterRoot() throws(SystemError) -> OpenFolder {
        try enter(ResolvedPath("", in: "/"))
    }

    /// Opens a folder in order to read, lock or synchronize it.
    func openFolder(of path: ResolvedPath) throws(SystemError) -> Int32 {
        try openFile(path.sibling("."), O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }

    /// The status of the folder of a path; nil if there is none.
    func folderStatus(of path: ResolvedPath) throws(SystemError) -> FileStatus? {
        guard let folder = path.openFolder else { return try status(at: ResolvedPath(splitting: path.folder)) }
        return try status(of: folder.descriptor)
    }
}

// MARK: - Following a path

extension FileSystemCalls {
    // Each attempt fails because a folder was replaced between two calls.
    private static let maximumWalks = 64

    /// Resolves every link of a path, and opens each folder on the way in the one before.
    func follow(_ path: AbsolutePath) throws(SystemError) -> ResolvedPath {
        for _ in 0..<Self.maximumWalks {
            if let resolved = try walk(path) { return resolved }
        }
        throw SystemError(EBUSY)
    }

    /// Returns nil if a folder was replaced meanwhile.
    private func walk(_ path: AbsolutePath) throws(SystemError) -> ResolvedPath? {
        var walk = PathWalk(path.text)
        var folders = [try enterRoot()]
        var foreignLink: (path: String, owner: uid_t?)?
        while let step = walk.next() {
            // `..` leads to an earlier folder, and the target of a link may start at the root.
            while folders.count > 1, folders[folders.count - 1].path != step.folder { folders.removeLast() }
            let folder = folders[folders.count - 1]
            let name = ResolvedPath(step.name, in: folder)
            let found = try entry(at: name)
            if found?.status.kind == .folder {
                guard let next = try enterIfUnchanged(name) else { return nil }
                folders.append(next)
            } else if let link = found?.status, link.kind == .link, let owner = try untrustedOwner(of: link, in: folder) {
                foreignLink = (name.path, foreignLink == nil || foreignLink?.owner == owner ? owner : nil)
            }
            walk.found(found?.status.kind, target: found?.target)
        }
        let destination = try walk.destination()
        return destination.opened(in: folders.last { $0.path == destination.folder }, foreignLink: foreignLink)
    }

    /// Where a path currently leads, for reading and watching. It opens nothing, which takes less than half the time of ``follow(_:)``.
    func destination(of path: AbsolutePath) throws(StorageError) -> ResolvedPath {
        try reading(path.text) { () throws(SystemError) in try walked(path).destination() }
    }

    /// Throws an error if a name on the path is no folder, so that no file can be at its end.
    func requireFolders(on path: AbsolutePath) throws(StorageError) {
        let walk = try reading(path.text) { () throws(SystemError) in try walked(path) }
        guard let obstacle = walk.obstacle else { return }
        let reason = "\(obstacle.path) on its path is a file, not a folder; correct the path, or move that file away"
        throw .unreadable(file: path.text, reason: reason)
    }

    private func walked(_ path: AbsolutePath) throws(SystemError) -> PathWalk {
        var walk = PathWalk(path.text)
        while let step = walk.next() {
            let found = try entry(at: step)
            walk.found(found?.status.kind, target: found?.target)
        }
        return walk
    }

    /// Whether a path still leads to a name in the folder that was opened, checked again under the lock. A user who can deceive this check
    /// could as well replace the folder a moment later.
    ///
    /// - Parameter status: the status of the file in that folder, if it was just looked at.
    func leads(_ path: AbsolutePath, to target: ResolvedPath, as status: FileStatus? = nil) throws(StorageError) -> Bool {
        if isDirect(path, to: target, as: status) { return true }
        guard let folder = target.openFolder, try destination(of: path) == target else { return false }
        return try reading(path.text) { () throws(SystemError) in
            // Looked at again: on a file server, another folder may have the number of one that was removed, which is stale.
            try isFile(folder.descriptor, at: ResolvedPath(splitting: target.folder))
        }
    }

    /// Whether a path names a file as it was opened, without links, and still leads to its open folder; false if that is not known.
    ///
    /// It takes two calls, and not one for each folder on the path.
    private func isDirect(_ path: AbsolutePath, to target: ResolvedPath, as status: FileStatus?) -> Bool {
        let given = ResolvedPath(splitting: path.text)
        // A folder that was renamed together with a link to it has another path.
        guard let folder = target.openFolder, given == target else { return false }
        return ifPossible { () throws(SystemError) in
            guard try self.status(at: target, or: status)?.kind != .link else { return false }
            return try folder.isSame(as: self.status(at: given.sibling(".")))
        } ?? false
    }

    private func enterIfUnchanged(_ folder: ResolvedPath) throws(SystemError) -> OpenFolder? {
        do throws(SystemError) {
            return try enter(folder)
        } catch let error where error.isMissing || error.code == ELOOP {
            return nil
        }
    }

    /// The user, other than this one and the superuser, who made a link, or may replace it; nil if there is none.
    private func untrustedOwner(of link: FileStatus, in folder: OpenFolder) throws(SystemError) -> uid_t? {
        try [link.owner, status(of: folder.descriptor).owner].first { $0 != 0 && $0 != geteuid() }
    }

    /// Rejects a path that leads through another user's link to a file or folder that does not belong to that user, who could otherwise
    /// redirect this user's writes to any file. Also rejects a file that another program would overwrite.
    func requireOwnLinks(of target: ResolvedPath) throws(StorageError) {
        try rules.requireOwn(target.path)
        guard let (link, owner) = target.foreignLink else { return }
        let owners = try writing(target.path) { () throws(SystemError) in
            [try folderStatus(of: target), try status(at: target)].compactMap { $0?.owner }
        }
        guard let other = owners.first(where: { $0 != owner }) else { return }
        let reason = """
            the symbolic link \(link) of \(owner.map { "user \($0)" } ?? "another user, among others,") leads to it, and it or its folder belongs \
            to user \(other); give the path without that link, or let the link belong to the superuser
            """
        throw .unwritable(file: target.path, reason: reason)
    }
}

// MARK: - Making folders

extension FileSystemCalls {
    /// Creates the folder of a path and its ancestors if they are missing: for this user only, regardless of the umask. Follows no links.
    func makeFolders(of path: ResolvedPath) throws(SystemError) {
        _ = try opened(path) { name throws(SystemError) in try enterOrMake(name) }
    }

    /// A path with its folder open, which it was when it was resolved.
    func reopened(_ path: ResolvedPath) throws(SystemError) -> ResolvedPath {
        try opened(path) { name throws(SystemError) in try enter(name) }
    }

    private func opened(
        _ path: ResolvedPath, by enter: (ResolvedPath) throws(SystemError) -> OpenFolder
    ) throws(SystemError) -> ResolvedPath {
        var folder = try enterRoot()
        for name in path.folder.utf8.split(separator: UInt8(ascii: "/")) {
            folder = try enter(ResolvedPath(String(Substring(name)), in: folder))
        }
        return path.opened(in: folder)
    }

    private func enterOrMake(_ path: ResolvedPath) throws(SystemError) -> OpenFolder {
        do throws(SystemError) {
            return try enter(path)
        } catch let error where error.code == ENOENT {
            try makeMissingFolder(path)
            do throws(SystemError) {
                // Otherwise a power failure could remove the folder with all its files.
                try synchronizeFolder(of: path)
            } catch {
                // A process that finds it later would assume that it is durable.
                removeIfEmpty(path)
                throw error
            }
            return try enter(path)
        }
    }

    /// Creates a folder for this user only, regardless of the umask; returns false if another process has made it.
    @discardableResult
    func makeMissingFolder(_ path: ResolvedPath) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try makeFolder(path, 0o700) }
        } catch let error where error.code == EEXIST {
            return false
        }
        // The umask has removed permissions of the owner. With permissions for others, it is a folder that replaced the new one.
        guard let folder = try status(at: path), folder.kind == .folder, folder.owner == geteuid(), folder.permissions != 0o700,
            folder.permissions & 0o077 == 0
        else { return true }
        try ifAllowed { () throws(SystemError) in try setPermissionsOfPath(path, 0o700) }
        return true
    }

    /// Waits until the names in the folder of a path have been written to the medium.
    func synchronizeFolder(of path: ResolvedPath) throws(SystemError) {
        let folder = try openFolder(of: path)
        defer { discard(folder) }
        try synchronizeFolder(folder)
    }

    /// Waits until the names in a folder have been written to the medium.
    func synchronizeFolder(_ descriptor: Int32) throws(SystemError) {
        do throws(SystemError) {
            try uninterrupted { () throws(SystemError) in try synchronize(descriptor) }
        } catch let error where error.code == EINVAL || error.code == ENOTSUP {
            // Such a file system never supports it.
        }
    }

    /// Removes a folder, unless another process uses it already.
    func removeIfEmpty(_ folder: ResolvedPath) {
        ifPossible { () throws(SystemError) in try removeEmptyFolder(folder) }
    }
}
