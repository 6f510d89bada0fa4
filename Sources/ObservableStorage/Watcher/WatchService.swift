import Foundation

/// A service of the system that reports changes along a path.
struct WatchService: Sendable {
    let mechanism: FileWatcher.Mechanism
    /// Watches everything whose change can change where the path leads or what the file contains.
    ///
    /// The handler is called on any thread, and has to be quick.
    let register:
        @Sendable (_ path: String, _ handler: @escaping @Sendable (PathEvents) -> Void) throws(WatchError) -> any WatchRegistration
}

#if os(Linux)
    extension WatchService {
        /// The service of this system, if it has one.
        static var system: WatchService? { InotifyHub.shared.service }
    }
#elseif canImport(Darwin)
    extension WatchService {
        /// The service of this system, if it has one.
        static var system: WatchService? { .vnode() }
    }
#else
    extension WatchService {
        /// The service of this system, if it has one.
        static var system: WatchService? { nil }
    }
#endif

/// Everything that is watched for one path.
protocol WatchRegistration: AnyObject, Sendable {
    /// Whether some changes are not reported, so that a timer has to look for them as well.
    var isPartial: Bool { get }

    /// The file, if it is a mount point, as a single file in a container is; nil if that cannot be determined.
    var mountedFile: String? { get }

    /// Watches what the path leads to now. Called on one thread at a time.
    func update(after events: PathEvents) throws(WatchError) -> TargetState

    /// Stops watching for good, and also what another thread is just starting to watch.
    func cancel()
}

extension WatchRegistration {
    /// Watches what the path leads to for the first time; what cannot be watched is cancelled.
    func start() throws(WatchError) {
        do throws(WatchError) {
            _ = try update(after: .rerouted)
        } catch {
            cancel()
            throw error
        }
    }
}

/// What stood at the end of a path when it was watched again.
enum TargetState: Sendable, Hashable {
    /// Nothing on the path or at its end has changed.
    case unchanged
    /// An empty file, whose writer is probably about to fill it.
    case empty
    /// A file with content, or no file.
    case ready
}

/// What has happened to a path since it was processed last.
struct PathEvents: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The file was modified, and may be modified further.
    static let modified = PathEvents(rawValue: 1)
    /// A writer closed the file.
    static let closed = PathEvents(rawValue: 2)
    /// The file's name was created, or its permissions changed: it may be possible to watch it now, and it may still be written.
    static let created = PathEvents(rawValue: 4)
    /// Another file was renamed to the file's name.
    static let replaced = PathEvents(rawValue: 8)
    /// A folder or link on the path changed, or events were lost: the path has to be resolved again.
    static let rerouted = PathEvents(rawValue: 16)
    /// The path is watched for the first time.
    static let registered = PathEvents(rawValue: 32)
    /// The file's name was removed.
    static let removed = PathEvents(rawValue: 64)
    /// The watched file itself was removed or renamed. Its folder reports that as well, unless it knows the file by another spelling.
    static let ended = PathEvents(rawValue: 128)

    /// Events after which the path is watched again before they are reported: nothing else may report what happens next.
    static let reregistering: PathEvents = [.created, .removed, .rerouted]

    /// Whether the path has to be watched again before the events are reported.
    var needsUpdate: Bool {
        !isDisjoint(with: Self.reregistering)
    }

    /// Whether the file is another one, which is to be watched once writers are quiet: whoever replaces a whole file, as every store does,
    /// replaces it again rather than modifying it, which the folder reports.
    var needsUpdateLater: Bool {
        !isDisjoint(with: [.replaced, .ended]) && !needsUpdate
    }
}

/// Why a path cannot be watched.
struct WatchError: Error, Sendable, Hashable {
    let reason: String
    /// Whether this process has no permission.
    var isForbidden = false
    /// The file or folder that cannot be watched, if it is a particular one.
    var path: String?
}

extension WatchError {
    /// What the system reported about a path.
    init(_ error: SystemError, at path: String) {
        let reason = error.code == EILSEQ ? "the target of the link \(path) is not UTF-8" : "\(path): \(error.reason)"
        self.init(reason: reason, isForbidden: error.code == EACCES || error.code == EPERM, path: path)
    }
}

extension FileSystemCalls {
    /// The status of what is at a path itself, with the target of a link; nil also for what is just being replaced, and for what this process
    /// may not see: the folders that are watched already report when that changes.
    func watchedEntry(at path: String) throws(WatchError) -> (status: FileStatus, target: String?)? {
        do throws(SystemError) {
            return try entry(at: path)
        } catch let error where error.code == EACCES || error.code == ELOOP {
            return nil
        } catch {
            throw WatchError(error, at: path)
        }
    }
}

extension FileStatus {
    /// Whether it can be the file at the end of a path: anything but a folder or a link.
    var isTarget: Bool {
        kind != .folder && kind != .link
    }
}

extension TargetState {
    /// The state of the file at the end of a path; ``ready`` also if there is none.
    init(of status: FileStatus?) {
        let isEmpty = status.map { $0.isTarget && $0.identity.size == 0 } ?? false
        self = isEmpty ? .empty : .ready
    }
}
