import FoundationSubset

/// A service of the system that reports changes along a path.
struct WatchService: Sendable {
    let mechanism: FileWatcher.Mechanism
    /// Watches every file and folder whose changes can affect the resolution of the path or the content of its file.
    ///
    /// The handler is called on any thread, and must return quickly.
    let register:
        @Sendable (_ path: String, _ handler: @escaping @Sendable (PathEvents) -> Void) throws(WatchError) -> any WatchRegistration
}

extension WatchService {
    /// The service of this system, if it has one.
    #if os(Linux)
        static var system: WatchService? { InotifyHub.shared.service() }
    #elseif canImport(Darwin)
        static let system: WatchService? = .vnode(.live)
    #else
        static var system: WatchService? { nil }
    #endif

    /// The same for a file that is only ever renamed to its path: it does not report the temporary files that writers of property lists
    /// create beside it.
    #if os(Linux)
        static var systemForRenamedFiles: WatchService? { InotifyHub.shared.service(reportsCreation: false) }
    #else
        static var systemForRenamedFiles: WatchService? { system }
    #endif
}

/// The watches of one path.
protocol WatchRegistration: AnyObject, Sendable {
    /// Whether some changes are not reported, so that a timer has to compare the file as well.
    var isPartial: Bool { get }

    /// The file, if it is a mount point, as a single file in a container is; nil if that cannot be determined.
    var mountedFile: String? { get }

    /// Updates the watches to the current resolution of the path. Called on one thread at a time.
    func update(after events: PathEvents) throws(WatchError) -> TargetState

    /// Replaces the file, without an event of it if the system allows that.
    ///
    /// The file is looked at afterwards, so that no change by others is missed.
    ///
    /// - Parameter body: renames a file to the path, and returns it; nil if it is not known which file the path has then.
    /// - Returns: whether nothing else will be reported of the change.
    func withoutEvents<Failure: Error>(_ body: () throws(Failure) -> FileIdentity?) throws(Failure) -> Bool

    /// Pauses the events of writes to the file, until the closure that it returns is called. Writes by others are not reported either: the
    /// caller looks at the file afterwards.
    ///
    /// - Returns: nil if they are reported, because other watchers need them, or the system does not allow that.
    func pauseWrites() -> (@Sendable () -> Void)?

    /// Stops watching permanently, including watches that another thread is adding.
    func cancel()
}

extension WatchRegistration {
    func withoutEvents<Failure: Error>(_ body: () throws(Failure) -> FileIdentity?) throws(Failure) -> Bool {
        _ = try body()
        return false
    }

    func pauseWrites() -> (@Sendable () -> Void)? { nil }

    /// The result of the first attempt that returns one.
    func repeated<Result>(_ attempt: () throws(WatchError) -> Result?) throws(WatchError) -> Result {
        // A path that changes more often while it is resolved is unwatchable.
        for _ in 0..<64 {
            if let result = try attempt() { return result }
        }
        throw WatchError(reason: "the folders on its path keep changing")
    }

    /// Watches the path for the first time; if that fails, the registration is cancelled.
    func start() throws(WatchError) {
        do throws(WatchError) {
            _ = try update(after: .rerouted)
        } catch {
            cancel()
            throw error
        }
    }
}

/// The state of the file at the end of a path when it was watched again.
enum TargetState: Sendable, Hashable {
    /// Nothing on the path or at its end has changed.
    case unchanged
    /// An empty file, which is probably about to be written.
    case empty
    /// A file with content, or no file.
    case ready

    /// The state of the file at the end of a path; ``ready`` also if there is none.
    init(of status: FileStatus?) {
        let isEmpty = status.map { $0.isTarget && $0.identity.size == 0 } ?? false
        self = isEmpty ? .empty : .ready
    }
}

/// The events of a path since it was last processed.
struct PathEvents: OptionSet, Sendable, Hashable {
    let rawValue: UInt8

    /// The file was modified, and may be modified further.
    static let modified = PathEvents(rawValue: 1)
    /// A writer closed the file.
    static let closed = PathEvents(rawValue: 2)
    /// The file's name was created, or its permissions changed: it may be possible to watch it now, and it may still be written.
    static let created = PathEvents(rawValue: 4)
    /// Another file was renamed to the path.
    static let replaced = PathEvents(rawValue: 8)
    /// A folder or link on the path changed, or events were lost: the path has to be resolved again.
    static let rerouted = PathEvents(rawValue: 16)
    /// The path is watched for the first time.
    static let registered = PathEvents(rawValue: 32)
    /// The file's name was removed.
    static let removed = PathEvents(rawValue: 64)
    /// The watched file itself was removed or renamed, which its folder also reports, unless the name is spelled differently there.
    static let ended = PathEvents(rawValue: 128)

    /// Events after which the watches are updated before the report, because later changes could be missed otherwise.
    static let reregistering: PathEvents = [.created, .removed, .rerouted]

    /// Whether the watches have to be updated before the events are reported.
    var needsUpdate: Bool { !isDisjoint(with: Self.reregistering) }

    /// Whether there is a new file, to be watched after its writers are quiet: a writer that replaces files, such as a store, replaces it
    /// again rather than modifying it, which the folder reports.
    var needsUpdateLater: Bool { !isDisjoint(with: [.replaced, .ended]) && !needsUpdate }
}

extension Debouncer {
    // Events that are reported immediately, because no writer has the current file open.
    private static let immediate: PathEvents = [.closed, .replaced, .removed, .rerouted, .registered]

    /// Records events of a path, after adding the watches that they require.
    ///
    /// - Parameters:
    ///   - target: the state of the file at the path.
    ///   - mayDelay: whether a writer may delay a report that is due already.
    mutating func changed(_ events: PathEvents, target: TargetState, mayDelay: Bool = true, at now: Instant) -> Action {
        let news = target == .unchanged ? events.subtracting(PathEvents.reregistering) : events
        if !news.isDisjoint(with: Self.immediate) || (news.contains(.created) && target == .ready) {
            processed()
            return .process
        }
        return news.isEmpty || !mayDelay ? .none : modified(at: now)
    }
}

/// The reason why a path cannot be watched.
struct WatchError: Error, Sendable, Hashable {
    let reason: String
    /// Whether the reason is missing permission of this process.
    var isForbidden = false
    /// The file or folder that cannot be watched, if it is a particular one.
    var path: String?
}

extension WatchError {
    init(_ error: SystemError, at path: String) {
        let reason = error.code == EILSEQ ? "the target of the link \(path) is not UTF-8" : "\(path): \(error.reason)"
        self.init(reason: reason, isForbidden: error.code == EACCES || error.code == EPERM, path: path)
    }
}

extension FileSystemCalls {
    /// The status of the file at a path, with the target of a link; nil also while it is being replaced, or without permission: the watched
    /// folders report when that changes.
    func watchedEntry(at path: String) throws(WatchError) -> (status: FileStatus, target: String?)? {
        do throws(SystemError) {
            return try entry(at: ResolvedPath(splitting: path))
        } catch let error where [EACCES, EPERM, ELOOP].contains(error.code) {
            return nil
        } catch {
            throw WatchError(error, at: path)
        }
    }
}

extension FileStatus {
    /// Whether it can be the file of a watched path: anything but a folder or a link.
    var isTarget: Bool { kind != .folder && kind != .link }
}
