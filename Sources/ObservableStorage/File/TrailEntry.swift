#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// What a name in a folder stands for, a link not followed.
struct TrailEntry: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// Nothing, or nothing that this process may know of.
        case missing
        case folder
        case link(target: String)
        case file
    }

    let kind: Kind
    let identity: FileWatcherIdentity

    init(kind: Kind, identity: FileWatcherIdentity = .missing) {
        self.kind = kind
        self.identity = identity
    }

    /// Looks at the path's last name.
    init(path: String) throws(FileWatcherObstacle) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            let code = errno
            // What is replaced at this moment is told by the folders watched already.
            guard [ENOENT, ENOTDIR, EACCES, ELOOP].contains(code) else {
                throw FileWatcherObstacle(path: path, code: code)
            }
            self.init(kind: .missing)
            return
        }
        let identity = FileWatcherIdentity(status)
        switch status.st_mode & S_IFMT {
        case S_IFDIR: self.init(kind: .folder, identity: identity)
        case S_IFLNK: self.init(kind: try TrailEntry.link(at: path), identity: identity)
        default: self.init(kind: .file, identity: identity)
        }
    }

    private static func link(at path: String) throws(FileWatcherObstacle) -> Kind {
        var bytes = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &bytes, bytes.count)
        guard count > 0 else { return .missing }
        guard let target = String(validating: bytes[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self) else {
            throw FileWatcherObstacle(reason: "the target of the link \(path) is not UTF-8", path: path)
        }
        return .link(target: target)
    }

    /// The device it is on, nil if there is nothing.
    var device: UInt64? {
        if case .present(let identity) = identity { identity.device } else { nil }
    }

    /// Whether it is a file without content.
    var isEmptyFile: Bool {
        kind == .file && identity.isEmpty
    }
}

extension FileWatcherObstacle {
    /// What the system said about a path.
    init(path: String, code: Int32) {
        self.init(reason: "\(path): \(String(cString: strerror(code)))", isForbidden: code == EACCES || code == EPERM, path: path)
    }
}
