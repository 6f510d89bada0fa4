import Foundation

/// A path from the root on that means to us what it means to the kernel: neither `..` nor a link is resolved by its text.
///
/// A path that could lead to another file than the one that was named is refused: one that is not UTF-8 or has a NUL in it, one that starts
/// at a working folder that has gone, and one that names a folder.
struct AbsolutePath: Sendable {
    let text: String

    private static let separator = UInt8(ascii: "/")

    /// Joins a path to the working folder of now, unless it starts at the root.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)``
    init(_ path: String) throws(StorageError) {
        do throws(Refusal) {
            try self.init(checking: path)
        } catch {
            throw .unreadable(file: path, reason: error.reason)
        }
    }

    /// The path of a file URL, whose relative form starts at the folder that was the working folder when the URL was made.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)``
    init(of url: URL) throws(StorageError) {
        do throws(Refusal) {
            try self.init(checking: Self.path(of: url))
        } catch {
            throw .unreadable(file: Self.name(of: url), reason: error.reason)
        }
    }

    /// What a URL is called in errors.
    static func name(of url: URL) -> String {
        url.path.isEmpty ? url.absoluteString : url.path
    }

    /// Why a path is none that can be used.
    struct Refusal: Error {
        let reason: String
    }

    /// A path joined to the working folder of now, unless it starts at the root.
    static func fromRoot(_ path: String) throws(Refusal) -> String {
        path.utf8.first == separator ? path : try workingFolder() + "/" + path
    }

    private init(checking path: String) throws(Refusal) {
        guard !path.isEmpty else { throw Refusal(reason: SystemError(ENOENT).reason) }
        guard !path.utf8.contains(0) else { throw Refusal(reason: "its path has a NUL in it, where the system takes it to end") }
        let parts = try Self.fromRoot(path).utf8.split(separator: Self.separator, omittingEmptySubsequences: false).map { Substring($0) }
        guard let last = parts.last, !["", ".", ".."].contains(last) else { throw Refusal(reason: "its path names a folder") }
        text = "/" + parts.filter { !["", "."].contains($0) }.joined(separator: "/")
    }

    private static func workingFolder() throws(Refusal) -> String {
        guard let folder = getcwd(nil, 0) else {
            let reason = errno == ENOENT ? "it has gone" : SystemError(errno).reason
            throw Refusal(reason: "its path starts at the working folder, and \(reason); give the path from the root on")
        }
        defer { free(folder) }
        guard let text = String(validatingCString: folder) else {
            throw Refusal(reason: "its path starts at the working folder, whose name is not UTF-8")
        }
        // Linux has no path from the root on for a folder on a file system that was unmounted.
        guard text.utf8.first == separator else {
            throw Refusal(reason: "its path starts at the working folder, which the root does not lead to; give the path from the root on")
        }
        return text
    }

    /// The path as it was put into the URL: `URL.path` would take `..` out of a relative one, as if no folder were a link.
    private static func path(of url: URL) throws(Refusal) -> String {
        let text = url.relativeString
        guard let decoded = text.removingPercentEncoding else { throw Refusal(reason: "its path is not UTF-8") }
        guard !text.contains("%00") else { throw Refusal(reason: "its path has a NUL in it, where the system takes it to end") }
        // Foundation puts it in the place of what is not UTF-8, and so takes other names for this one.
        guard !decoded.unicodeScalars.contains("\u{FFFD}") else { throw Refusal(reason: "its path is not UTF-8, or has a U+FFFD in it") }
        let path = url.relativePath
        guard path.utf8.first != separator, let base = url.baseURL else {
            guard url.isFileURL || url.scheme == nil else { throw Refusal(reason: "its URL is not one of a file") }
            return path
        }
        let folder = try self.path(of: base)
        if base.hasDirectoryPath { return folder + "/" + path }
        // Relative to a file is what stands beside it.
        let end = folder.utf8.lastIndex(of: separator) ?? folder.startIndex
        return folder[..<end] + "/" + path
    }
}
