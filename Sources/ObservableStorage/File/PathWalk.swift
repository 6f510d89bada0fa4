import FoundationSubset

/// Resolves a path name by name from the root on, symbolic links included, and makes no system calls itself.
///
/// Look up the name that ``next()`` returns, and pass the result to ``found(_:target:)``. A watcher that watches the folder of each name
/// before looking it up misses no change in between.
struct PathWalk: Sendable {
    // The number of links that the kernel follows.
    private static let maximumLinks = 40
    private static let separator = UInt8(ascii: "/")

    /// The folder reached so far, absolute and free of links.
    private var folder = "/"
    /// The remaining names, the next one last.
    private var names: [String] = []
    private var links = 0
    private var isEnded = false
    private var error: SystemError?
    private var current: ResolvedPath?

    /// The name that was last returned, if it is the path's last one; nil while names follow it.
    private(set) var last: ResolvedPath?
    /// The file to which the path leads, if there is one.
    private(set) var file: ResolvedPath?
    /// The file on the path that is followed by other names; nil if there is none.
    private(set) var obstacle: ResolvedPath?

    init(_ path: String) {
        push(path)
    }

    /// The next name to look up; nil at the end of the path, and after a name that leads no further.
    mutating func next() -> ResolvedPath? {
        while !isEnded, let name = names.popLast() {
            if name == ".." {
                folder = ResolvedPath(splitting: folder).folder
            } else {
                let step = ResolvedPath(name, in: folder)
                current = step
                last = names.isEmpty ? step : nil
                return step
            }
        }
        return nil
    }

    /// Continues with the result of looking up the last name; nil if it does not exist.
    mutating func found(_ kind: FileStatus.FileType?, target: String? = nil) {
        guard let step = current else { return }
        if kind == .folder {
            folder = step.path
            current = nil
        } else if kind == .link, let target {
            current = nil
            links += 1
            guard links <= Self.maximumLinks else { return end(SystemError(ELOOP)) }
            if target.utf8.first == Self.separator { folder = "/" }
            push(target)
        } else {
            // Nothing can exist below it. The remaining names are kept unchanged, except `..`, which requires a folder.
            end(names.contains("..") ? SystemError(kind == nil ? ENOENT : ENOTDIR) : nil)
            if kind != nil, names.isEmpty { file = step }
            // Below a device there is nothing: a home of /dev/null turns configuration files off.
            if kind == .file, !names.isEmpty { obstacle = step }
        }
    }

    /// The resolved path, after ``next()`` has returned nil.
    func destination() throws(SystemError) -> ResolvedPath {
        if let error { throw error }
        return ResolvedPath(splitting: ([current?.path ?? folder] + names.reversed()).joined(separator: "/"))
    }

    private mutating func end(_ error: SystemError?) {
        isEnded = true
        self.error = error
    }

    private mutating func push(_ path: String) {
        // Split by bytes: in a String, a combining mark after a slash forms one character with it.
        for name in path.utf8.split(separator: Self.separator).reversed().map({ String(Substring($0)) }) where name != "." {
            names.append(name)
        }
    }
}
