public import Foundation

/// Whether a file that cannot be replaced, because it is mounted itself as single files are in containers, is written in place.
///
/// Meanwhile a copy of the new content stands beside it, or in a folder given, which whoever opens the file next restores it from if the writer
/// died. Readers that know nothing of that may see half of a file; those of this library read again.
///
/// Everyone who writes the file has to have the same folder for copies: a copy that was left behind is found by nobody else, and would undo what
/// they wrote meanwhile. That folder has to last as long as the file does, which the one beside it in a container may not.
public struct InPlaceWriting: Sendable, Hashable {
    private enum Copies: Sendable, Hashable {
        case none, beside
        case folder(String)
    }

    private let copies: Copies

    /// Writing is an error that says why.
    public static let never = InPlaceWriting(copies: .none)

    /// It is, with a copy beside it.
    public static let whenNecessary = InPlaceWriting(copies: .beside)

    /// It is, with a copy in a folder, which is made at the first write.
    public static func whenNecessary(copyIn folder: URL) -> InPlaceWriting {
        InPlaceWriting(copies: .folder(folder.path))
    }

    /// Where the copy of a file is; nil if there is none.
    func copy(of target: ResolvedPath, calls: FileSystemCalls) throws(StorageError) -> ResolvedPath? {
        let names = SideFileName(of: target.name)
        switch copies {
        case .none: return nil
        case .beside: return ResolvedPath(names.copy, in: target.folder)
        case .folder(let folder):
            do throws(StorageError) {
                return ResolvedPath(names.copy(ofFileIn: target.folder), in: try ResolvedPath(AbsolutePath(folder), calls: calls).path)
            } catch {
                throw .unreadable(file: target.path, reason: "the folder for its copies cannot be followed: \(error)")
            }
        }
    }
}

extension PropertyListFile {
    /// Finishes what a writer began that died while it wrote into the file in place.
    func restoreIfNeeded() throws {
        guard inPlace != .never else { return }
        let target = try lock.held ?? resolved()
        guard let copy = try inPlace.copy(of: target, calls: calls), try isThere(copy) else { return }
        _ = try withFileLock(of: target) { _ in try AtomicFile.restore(target, from: copy, calls: calls) }
    }

    private func isThere(_ copy: ResolvedPath) throws(StorageError) -> Bool {
        do throws(SystemError) {
            return try calls.status(at: copy.path) != nil
        } catch {
            throw .unreadable(file: name, reason: "\(error.reason) (looking for \(copy.path))")
        }
    }
}
