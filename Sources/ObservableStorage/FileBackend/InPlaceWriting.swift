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
