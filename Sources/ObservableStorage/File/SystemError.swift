import Foundation

/// A system call that failed.
package struct SystemError: Error, Sendable, Hashable {
    /// The `errno` it left.
    let code: Int32

    init(_ code: Int32) {
        self.code = code
    }

    /// The system's own words for it.
    var reason: String {
        String(cString: strerror(code))
    }

    /// Whether the call said that there is nothing at the path.
    var isMissing: Bool {
        code == ENOENT || code == ENOTDIR
    }

    /// Whether there were no descriptors or no room for the call, of which files that are closed give some back.
    var isShortage: Bool {
        [EMFILE, ENFILE, ENOSPC, EDQUOT].contains(code)
    }

    /// Whether the call is one that this user or this file system does not get, however often it is made.
    var isDenied: Bool {
        [EPERM, EACCES, EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP].contains(code)
    }
}
