import Foundation

/// What tells one state of a file from another without reading it; a missing file has an identity too.
enum FileWatcherIdentity: Sendable, Hashable {
    case missing
    case present(FileIdentity)

    /// The identity of what is at the path, every link followed.
    init(path: String) {
        var status = stat()
        self = stat(path, &status) == 0 ? FileWatcherIdentity(status) : .missing
    }

    /// The identity of what was found.
    init(_ status: stat) {
        self = .present(FileStatus(status).identity)
    }

    /// Whether there is a file, and it is empty.
    var isEmpty: Bool {
        if case .present(let identity) = self { identity.size == 0 } else { false }
    }

    /// Whether a write after that time may leave it as it is.
    func mayHideWrites(after time: Date) -> Bool {
        if case .present(let identity) = self { identity.mayHideWrites(after: time) } else { false }
    }

    /// Whether both are one file or folder, whatever its content, or nothing.
    func isSameFile(as other: FileWatcherIdentity) -> Bool {
        switch (self, other) {
        case (.missing, .missing): true
        case (.present(let identity), .present(let other)): identity.isSameFile(as: other)
        default: false
        }
    }
}
