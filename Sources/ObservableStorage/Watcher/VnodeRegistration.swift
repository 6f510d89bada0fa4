import Dispatch
import FoundationSubset

extension WatchService {
    /// The service that watches paths with Dispatch sources on open descriptors, as on Apple's systems.
    static func vnode(_ vnodes: VnodeCalls, calls: FileSystemCalls = .live) -> WatchService {
        let hub = VnodeHub(vnodes: vnodes, calls: calls)
        return WatchService(mechanism: .vnode) { path, handler throws(WatchError) in
            let registration = VnodeRegistration(path: path, hub: hub, handler: handler)
            try registration.start()
            return registration
        }
    }
}

/// The open folders and file that one path needs, shared with other paths.
///
/// A watch takes effect asynchronously, and reports when: then the path is resolved again, until no changes are found.
final class VnodeRegistration: WatchRegistration {
    /// The role of the watch at each path, and the identity of its file.
    private typealias Survey = [String: (role: VnodeHub.Role, identity: FileIdentity?)]

    private let path: String
    private let hub: VnodeHub
    private let handler: @Sendable (PathEvents) -> Void
    /// The watch at each path, the file at the end, and whether watching has ended.
    private let state = Lock<(watches: [String: VnodeHub.Subscription], file: FileStatus?, isCancelled: Bool)>(([:], nil, false))

    init(path: String, hub: VnodeHub, handler: @escaping @Sendable (PathEvents) -> Void) {
        (self.path, self.hub, self.handler) = (path, hub, handler)
    }

    var isPartial: Bool { false }
    var mountedFile: String? { nil }

    func update(after events: PathEvents) throws(WatchError) -> TargetState {
        try repeated { () throws(WatchError) in
            let (survey, file) = try survey()
            return try adopt(survey, file)
        }
    }

    func cancel() {
        let watches = state.withLock { state in
            state.isCancelled = true
            defer { state.watches = [:] }
            return state.watches
        }
        for watch in watches.values { hub.cancel(watch) }
    }

    /// Resolves the path; returns the watches that it needs, and the file.
    private func survey() throws(WatchError) -> (survey: Survey, file: FileStatus?) {
        var survey: Survey = [:]
        var devices: Set<UInt64> = []
        var file: FileStatus?
        func add(_ path: String, _ role: VnodeHub.Role, _ identity: FileIdentity?) {
            let last = survey[path]?.role ?? role
            survey[path] = (last.rawValue > role.rawValue ? last : role, identity)
        }
        var walk = PathWalk(path)
        while let step = walk.next() {
            let entry = try hub.calls.watchedEntry(at: step.path)
            if let device = entry?.status.identity.device, devices.insert(device).inserted { try requireLocal(step.path) }
            let folder = try hub.calls.watchedEntry(at: step.folder)
            // A folder with the path's last name may be replaced by a file.
            let isPassage = entry?.status.kind == .folder && walk.last == nil
            add(step.folder, isPassage ? .passage : .directory, folder?.status.identity)
            walk.found(entry?.status.kind, target: entry?.target)
            if walk.file != nil {
                file = entry?.status
                add(step.path, .file, file?.identity)
            }
        }
        return (survey, file)
    }

    /// Opens missing watches, and closes the ones no longer needed; returns nil if a file or folder was replaced meanwhile.
    private func adopt(_ survey: Survey, _ file: FileStatus?) throws(WatchError) -> TargetState? {
        let (current, oldFile) = state.withLock { ($0.watches, $0.file) }
        var watches: [String: VnodeHub.Subscription] = [:]
        var isAdopted = false
        // Ends new watches if the path has changed, or cannot be watched.
        defer { if !isAdopted { for (path, watch) in watches where current[path]?.number != watch.number { hub.cancel(watch) } } }
        var isNew = false
        for (path, (role, identity)) in survey {
            let vnode = identity.map { VnodeHub.Vnode(path, $0) }
            if let watch = current[path], watch.role == role, watch.vnode == vnode {
                watches[path] = watch
                continue
            }
            do throws(WatchError) {
                guard let vnode, let watch = try subscribe(to: vnode, as: role) else { return nil }
                isNew = true
                watches[path] = watch
            } catch let error where error.isForbidden && (role == .passage || path == "/") {
                // A folder without read permission cannot be watched, which matters unless the name in it is that of a folder. The links in
                // the root, such as /var in the path of each container, are those of the system and fixed.
            }
        }
        let isUnchanged = !isNew && watches.count == current.count && file?.identity == oldFile?.identity
        isAdopted = true
        let obsolete = state.withLock { state in
            guard !state.isCancelled else { return Array(watches.values) }
            let kept = Set(watches.values.map(\.number))
            let obsolete = state.watches.values.filter { !kept.contains($0.number) }
            state.watches = watches
            state.file = file
            return obsolete
        }
        for watch in obsolete { hub.cancel(watch) }
        return isUnchanged ? .unchanged : TargetState(of: file)
    }

    private func subscribe(to vnode: VnodeHub.Vnode, as role: VnodeHub.Role) throws(WatchError) -> VnodeHub.Subscription? {
        try hub.subscribe(to: vnode, as: role) { [weak self] events in
            // Dispatch may still call the handler of a source that was just cancelled.
            guard let self, !state.withLock({ $0.isCancelled }) else { return }
            handler(events)
        }
    }

    private func requireLocal(_ path: String) throws(WatchError) {
        if hub.vnodes.isLocal(path) { return }
        throw WatchError(reason: "\(path) is on a network file system, which reports no changes by other machines")
    }
}
