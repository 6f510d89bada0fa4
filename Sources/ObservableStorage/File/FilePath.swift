import FoundationSubset
import PropertyListCoding

/// An absolute path with `..` and symbolic links as given: only the file system can resolve them.
///
/// A path that could lead to another file than the intended one is rejected: one that is not UTF-8 or contains a NUL, one that is relative
/// to a working folder that no longer exists, and one that names a folder.
struct AbsolutePath: Sendable {
    let text: String

    private static let separator = UInt8(ascii: "/")

    /// Resolves a relative path against the current working folder.
    ///
    /// - Parameter file: the name in errors; nil for the path.
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)``
    init(_ path: String, of file: String? = nil, calls: FileSystemCalls = .live) throws(StorageError) {
        let file = file ?? path
        guard !path.isEmpty else { throw .unreadable(file: file, reason: SystemError(ENOENT).reason) }
        guard !path.utf8.contains(0) else { throw Self.containsNUL(file) }
        let absolute = try Self.fromRoot(path, of: file, calls: calls)
        let names = absolute.utf8.split(separator: Self.separator, omittingEmptySubsequences: false).map { Substring($0) }
        guard let last = names.last, !["", ".", ".."].contains(last) else {
            throw .unreadable(file: file, reason: "its path names a folder")
        }
        text = "/" + names.filter { !["", "."].contains($0) }.joined(separator: "/")
    }

    /// The path of a file URL; a relative one is resolved against the folder that was the working folder when the URL was created.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)``
    init(of url: URL, calls: FileSystemCalls = .live) throws(StorageError) {
        let file = Self.name(of: url)
        try self.init(Self.path(of: url, file), of: file, calls: calls)
    }

    /// The name of a URL in errors, without a password in it.
    static func name(of url: URL) -> String {
        guard isOfFile(url) else { return "\(url.scheme ?? "")://\(url.host ?? "")\(url.path)" }
        return url.path.isEmpty ? url.absoluteString : url.path
    }

    private static func isOfFile(_ url: URL) -> Bool {
        url.isFileURL || url.scheme == nil
    }

    /// Joins a relative path to the current working folder; returns an absolute one as it is.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)``
    static func fromRoot(_ path: String, of file: String, calls: FileSystemCalls = .live) throws(StorageError) -> String {
        if path.utf8.first == separator { return path }
        let folder: String
        do throws(SystemError) {
            folder = try calls.workingFolder()
        } catch {
            let reason =
                switch error.code {
                case ENOENT: "which no longer exists; use an absolute path"
                case EILSEQ: "whose name is not UTF-8"
                default: "which cannot be determined: \(error.reason); use an absolute path"
                }
            throw .unreadable(file: file, reason: "its path is relative to the working folder, \(reason)")
        }
        // For a folder on an unmounted file system, Linux returns a path that does not start at the root.
        guard folder.utf8.first == separator else {
            let reason = "which cannot be reached from the root; use an absolute path"
            throw .unreadable(file: file, reason: "its path is relative to the working folder, \(reason)")
        }
        return folder + "/" + path
    }

    private static func containsNUL(_ file: String) -> StorageError {
        .unreadable(file: file, reason: "its path contains a NUL, at which the system would end it")
    }

    /// The path as given in the URL: `URL.path` removes `..` textually from a relative one, as if no folder were a link.
    private static func path(of url: URL, _ file: String) throws(StorageError) -> String {
        let text = url.relativeString
        guard let decoded = decoded(text) else { throw .unreadable(file: file, reason: "its path is not UTF-8") }
        guard !text.contains("%00") else { throw containsNUL(file) }
        // Foundation substitutes it for bytes that are not UTF-8, so that different names would become this one.
        guard !decoded.unicodeScalars.contains("\u{FFFD}") else {
            throw .unreadable(file: file, reason: "its path is not UTF-8, or contains U+FFFD")
        }
        let path = url.relativePath
        guard path.utf8.first != separator, let base = url.baseURL else {
            guard isOfFile(url) else { throw .unreadable(file: file, reason: "it is not a file URL; use URL(fileURLWithPath:)") }
            return path
        }
        let folder = try self.path(of: base, file)
        if base.hasDirectoryPath { return folder + "/" + path }
        // A path relative to a file is resolved against the file's folder.
        let end = folder.utf8.lastIndex(of: separator) ?? folder.startIndex
        return folder[..<end] + "/" + path
    }

    /// The text of a URL without percent encoding, or nil if it is not UTF-8.
    private static func decoded(_ text: String) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            // A URL has two hexadecimal digits after every percent sign.
            guard let decoded = UInt8(Substring(rest.prefix(2)), radix: 16) else { return nil }
            bytes.append(decoded)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// An absolute path whose folder contains neither `..` nor symbolic links. The file and the folder need not exist.
///
/// If it was found by following a path, its folder is open, and calls look up the name in that folder, even if the folder's path leads
/// elsewhere meanwhile: other users may replace any folder that they own with a link.
package struct ResolvedPath: Sendable {
    let folder: String
    /// The last component; empty for the root folder.
    let name: String
    /// The folder; nil if it is missing, or was not opened.
    let openFolder: OpenFolder?
    /// The last link that was followed and that a user other than this one and the superuser could redirect, and that user, or nil if
    /// there are several.
    private(set) var foreignLink: (path: String, owner: uid_t?)?

    /// A name in a resolved folder. A link of that name is not followed.
    init(_ name: String, in folder: String) {
        self.folder = folder
        self.name = name
        openFolder = nil
    }

    /// A name in an open folder. A link of that name is not followed.
    init(_ name: String, in folder: OpenFolder) {
        self.folder = folder.path
        self.name = name
        openFolder = folder
    }

    var path: String { folder == "/" ? "/" + name : folder + "/" + name }

    /// Creates a path that is already resolved. The root is its own folder.
    init(splitting path: String) {
        guard let end = path.utf8.lastIndex(of: UInt8(ascii: "/")), path.utf8.count > 1 else {
            self.init("", in: "/")
            return
        }
        self.init(String(path[path.utf8.index(after: end)...]), in: end == path.startIndex ? "/" : String(path[..<end]))
    }

    /// Resolves every symbolic link of a path, including that of its last component: two paths to one file resolve to the same path, and a
    /// dangling link to the path of its missing target. Each folder on the way is opened in the one before.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:edits:)`` if links form a cycle, if `..` follows something other than a folder, or if a
    ///   folder may not be searched; ``StorageError/folderNotGranted(file:edits:)`` if the sandbox forbids that.
    init(_ path: AbsolutePath, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            self = try calls.follow(path)
        } catch {
            throw calls.rules.pickedFileError(path.text, error) ?? .unreadable(file: path.text, reason: error.reason)
        }
    }

    func sibling(_ name: String) -> ResolvedPath {
        openFolder.map { ResolvedPath(name, in: $0) } ?? ResolvedPath(name, in: folder)
    }

    /// The path alone, which keeps no folder open.
    var unopened: ResolvedPath { ResolvedPath(name, in: folder) }

    /// The path, with a folder that was opened there.
    func opened(in folder: OpenFolder?, foreignLink: (path: String, owner: uid_t?)? = nil) -> ResolvedPath {
        var opened = folder.map { ResolvedPath(name, in: $0) } ?? self
        opened.foreignLink = foreignLink
        return opened
    }
}

extension ResolvedPath: Hashable {
    // Strings that differ in normalization only are equal; most file systems keep them apart.
    package static func == (left: ResolvedPath, right: ResolvedPath) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.folder.hasSameBytes(as: right.folder)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(folder)
        hasher.combine(name)
    }
}
