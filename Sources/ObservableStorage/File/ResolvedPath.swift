import Foundation

/// Where a path really leads: absolute, every symbolic link followed, whether or not anything is there yet.
///
/// A link that dangles leads to where its target would be. Two paths to one file resolve alike.
struct ResolvedPath: Sendable {
    /// The folder and the name.
    let path: String
    /// The folder of the last part.
    let folder: String
    /// The last part; empty for the root folder.
    let name: String

    // As many as the kernel follows.
    private static let mostLinks = 40
    private static let separator = UInt8(ascii: "/")

    /// Follows the path.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)`` for links in a circle, for `..` after what is no folder, and where a folder may not be
    ///   entered.
    init(_ path: AbsolutePath, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            try self.init(following: path, calls: calls)
        } catch {
            throw .unreadable(file: path.text, reason: error.reason)
        }
    }

    private init(following path: AbsolutePath, calls: FileSystemCalls) throws(SystemError) {
        // What is still to be walked, the next part last.
        var pending = Self.parts(path.text)
        var walked = ""
        var links = 0
        while let part = pending.popLast() {
            guard part != ".." else {
                if !walked.isEmpty {
                    guard let status = try calls.status(at: walked) else { throw SystemError(ENOENT) }
                    guard status.kind == .folder else { throw SystemError(ENOTDIR) }
                }
                // Nothing walked so far is a link, so the parent is the one before.
                walked = Self.split(walked).folder
                continue
            }
            let next = walked + "/" + part
            guard let target = try Self.target(of: next, calls: calls) else {
                walked = next
                continue
            }
            links += 1
            guard links <= Self.mostLinks else { throw SystemError(ELOOP) }
            if target.utf8.first == Self.separator {
                walked = ""
            }
            pending += Self.parts(target)
        }
        let (folder, name) = Self.split(walked)
        self.path = walked.isEmpty ? "/" : walked
        self.folder = folder.isEmpty ? "/" : folder
        self.name = name
    }

    /// The same folder with another name in it.
    func sibling(_ name: String) -> String {
        folder == "/" ? "/" + name : folder + "/" + name
    }

    private static func parts(_ path: String) -> [Substring] {
        path.utf8.split(separator: separator).map { Substring($0) }.filter { $0 != "." }.reversed()
    }

    /// A path without its last part, and the last part.
    private static func split(_ path: String) -> (folder: String, name: String) {
        guard let end = path.utf8.lastIndex(of: separator) else { return ("", path) }
        return (String(path[..<end]), String(path[path.utf8.index(after: end)...]))
    }

    private static func target(of path: String, calls: FileSystemCalls) throws(SystemError) -> String? {
        do throws(SystemError) {
            return try calls.uninterrupted { () throws(SystemError) in try calls.readLink(path) }
        } catch let error where error.code == EINVAL || error.isMissing {
            return nil
        }
    }
}

extension ResolvedPath: Hashable {
    // To a String, paths that differ in normalization are equal; most file systems keep them apart.
    static func == (left: ResolvedPath, right: ResolvedPath) -> Bool {
        left.path.utf8.elementsEqual(right.path.utf8)
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(path)
    }
}
