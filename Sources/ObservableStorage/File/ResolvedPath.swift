import Foundation

/// Where a path really leads: absolute, every symbolic link followed, whether or not anything is there yet.
///
/// A link that dangles leads to where its target would be. Two paths to one file resolve alike.
struct ResolvedPath: Sendable, Hashable {
    /// The folder and the name.
    let path: String
    /// The folder of the last part.
    let folder: String
    /// The last part; empty for the root folder.
    let name: String

    // As many as the kernel follows.
    private static let mostLinks = 40

    /// Follows the path.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)`` for links in a circle, and where a folder may not be entered.
    init(_ path: String, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            try self.init(following: path, calls: calls)
        } catch {
            throw .unreadable(file: path, reason: error.reason)
        }
    }

    /// Follows a path that is to be written to.
    ///
    /// - Throws: ``StorageError/unwritable(file:reason:)``
    init(ofWritable path: String, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            try self.init(following: path, calls: calls)
        } catch {
            throw .unwritable(file: path, reason: error.reason)
        }
    }

    private init(following path: String, calls: FileSystemCalls) throws(SystemError) {
        guard !path.isEmpty else { throw SystemError(ENOENT) }
        let start = path.utf8.first == UInt8(ascii: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        // What is still to be walked, the next part last.
        var pending = Self.parts(start)
        var walked: [String] = []
        var links = 0
        while let part = pending.popLast() {
            // Nothing walked so far is a link, so the parent is the one before.
            guard part != ".." else {
                _ = walked.popLast()
                continue
            }
            guard let target = try Self.target(of: "/" + (walked + [part]).joined(separator: "/"), calls: calls) else {
                walked.append(part)
                continue
            }
            links += 1
            guard links <= Self.mostLinks else { throw SystemError(ELOOP) }
            if target.utf8.first == UInt8(ascii: "/") {
                walked = []
            }
            pending += Self.parts(target)
        }
        name = walked.last ?? ""
        folder = "/" + walked.dropLast().joined(separator: "/")
        self.path = "/" + walked.joined(separator: "/")
    }

    /// The same folder with another name in it.
    func sibling(_ name: String) -> String {
        folder == "/" ? "/" + name : folder + "/" + name
    }

    private static func parts(_ path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String($0)! }.filter { $0 != "." }.reversed()
    }

    private static func target(of path: String, calls: FileSystemCalls) throws(SystemError) -> String? {
        do throws(SystemError) {
            return try calls.uninterrupted { () throws(SystemError) in try calls.readLink(path) }
        } catch let error where error.code == EINVAL || error.isMissing {
            return nil
        }
    }
}
