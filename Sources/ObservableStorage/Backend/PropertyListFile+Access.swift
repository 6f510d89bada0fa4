import Foundation

extension PropertyListFile {
    /// Whether others than this user and the superuser may decide what is in the file: write it, or put another one in its place, in that of
    /// a link that leads to it, or of a folder on the way.
    ///
    /// Such a file is read and written like any other. A program that trusts its settings as it trusts its own code asks this before it opens
    /// them. The group of a file counts as others; for a file that is missing the question is who may make it. Access control lists are
    /// seen as far as they show in the permissions, as POSIX ones do in those of the group.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)`` where the way to the file cannot be followed.
    public var isWritableByOthers: Bool {
        get throws(StorageError) {
            let path = try path.get()
            do throws(SystemError) {
                return try isOpenToOthers(path)
            } catch {
                throw .unreadable(file: name, reason: error.reason)
            }
        }
    }

    private func isOpenToOthers(_ path: AbsolutePath) throws(SystemError) -> Bool {
        var walk = TrailWalk(path: path.text)
        while let step = walk.next() {
            guard let folder = try calls.status(at: step.folder) else { return false }
            let entry = try calls.status(at: step.path)
            // In a sticky folder others may make what is missing, and leave alone what is not theirs.
            let isProtected = folder.isSticky && entry != nil && (folder.owner == 0 || folder.owner == geteuid())
            if folder.isOpenToOthers, !isProtected { return true }
            guard let entry else { return false }
            switch entry.kind {
            case .folder:
                walk.found(TrailEntry(kind: .folder))
            case .link:
                if entry.isOpenToOthers { return true }
                let target = try calls.uninterrupted { () throws(SystemError) in try calls.readLink(step.path) }
                walk.found(TrailEntry(kind: .link(target: target)))
            default:
                return entry.isOpenToOthers
            }
        }
        return false
    }
}
