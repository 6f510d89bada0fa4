import Dispatch
import FoundationSubset

/// The system calls for watching an open file or folder, which tests replace.
struct VnodeCalls: Sendable {
    /// The flags that open a file or folder for its events only, without blocking.
    let openFlags: Int32
    /// Creates a source, not activated, whose data is the raw value of the events of an open file or folder.
    let makeSource:
        @Sendable (_ descriptor: Int32, _ mask: DispatchSource.FileSystemEvent, _ queue: DispatchQueue) -> any DispatchSourceProtocol
    /// Whether the file system at a path is local; true if that cannot be determined.
    let isLocal: @Sendable (_ path: String) -> Bool
}

/// The open files and folders of watched paths: each is opened once for all paths, because a process may have few descriptors.
final class VnodeHub: Sendable {
    /// The reason why a file or folder is watched. The last of several roles applies, because its events include those of the others.
    enum Role: Int, Sendable, Hashable {
        /// A folder on the path, in which a folder is looked up: watched for being moved or removed.
        case passage
        /// A folder in which a link, a missing name or the last name is looked up: also watched for changes of its names.
        case directory
        /// The file: watched for all events.
        case file

        var mask: DispatchSource.FileSystemEvent {
            switch self {
            case .passage: [.delete, .rename, .revoke, .attrib]
            case .directory: [.delete, .rename, .revoke, .attrib, .write, .link]
            case .file: [.delete, .rename, .revoke, .attrib, .write, .extend, .link]
            }
        }

        func events(_ mask: DispatchSource.FileSystemEvent) -> PathEvents {
            var events: PathEvents = []
            if self == .file, !mask.isDisjoint(with: [.write, .extend, .attrib]) { events.insert(.modified) }
            if self != .file || !mask.isDisjoint(with: [.delete, .rename, .revoke, .link]) { events.insert(.rerouted) }
            return events
        }
    }

    /// A path's use of an open file or folder.
    typealias Subscription = (role: Role, vnode: Vnode, number: UInt64)

    /// A file or folder, by the path at which it was found.
    struct Vnode: Sendable, Hashable {
        let path: String
        private let device: UInt64
        private let inode: UInt64

        init(_ path: String, _ identity: FileIdentity) {
            (self.path, device, inode) = (path, identity.device, identity.inode)
        }
    }

    private struct Entry {
        let source: ActivatedSource
        let role: Role
        /// Distinguishes the source from one that it has replaced.
        let number: UInt64
        /// Whether the source has taken effect.
        var isRegistered = false
        var subscribers: [UInt64: (role: Role, handler: @Sendable (PathEvents) -> Void)] = [:]
    }

    let vnodes: VnodeCalls
    let calls: FileSystemCalls
    private let queue = DispatchQueue(label: "ObservableStorage.VnodeHub", qos: .userInitiated)
    private let entries = Lock<[Vnode: Entry]>([:])

    init(vnodes: VnodeCalls, calls: FileSystemCalls) {
        (self.vnodes, self.calls) = (vnodes, calls)
    }

    /// Watches the file or folder that was found at a path; returns nil if it is no longer there.
    ///
    /// Once the watch has taken effect, the handler is called with ``PathEvents/rerouted``, for earlier changes. Must not be called by a
    /// handler.
    func subscribe(
        to vnode: Vnode, as role: Role, handler: @escaping @Sendable (PathEvents) -> Void
    ) throws(WatchError) -> Subscription? {
        let subscription = (role: role, vnode: vnode, number: uniqueNumber())
        // On the queue, so that no event precedes its subscriber, and no file is opened twice.
        let result = queue.sync { () -> Result<Bool, WatchError> in
            Result { () throws(WatchError) in
                if entries.withLock({ $0[vnode].map { $0.role.rawValue < role.rawValue } ?? true }) {
                    guard try open(vnode, as: role) else { return false }
                }
                let isRegistered = entries.withLock { entries in
                    entries[vnode]?.subscribers[subscription.number] = (role, handler)
                    return entries[vnode]?.isRegistered ?? false
                }
                if isRegistered { queue.async { handler(.rerouted) } }
                return true
            }
        }
        return try result.get() ? subscription : nil
    }

    /// Opens a file or folder, for more events than the present source of it; returns false if another one is at the path.
    private func open(_ vnode: Vnode, as role: Role) throws(WatchError) -> Bool {
        guard let descriptor = try descriptor(of: vnode) else { return false }
        let number = uniqueNumber()
        let events = vnodes.makeSource(descriptor, role.mask, queue)
        // Earlier changes are found by resolving the path once more.
        events.setRegistrationHandler { [weak self] in self?.receive(nil, of: vnode, from: number) }
        let source = ActivatedSource(events, released: { [calls] in calls.discard(descriptor) }) { [weak self] data in
            self?.receive(DispatchSource.FileSystemEvent(rawValue: data), of: vnode, from: number)
        }
        let replaced = entries.withLock { entries in
            defer { entries[vnode] = Entry(source: source, role: role, number: number, subscribers: entries[vnode]?.subscribers ?? [:]) }
            return entries[vnode]?.source
        }
        replaced?.cancel()
        return true
    }

    /// Opens a file or folder; returns nil if another one is at the path.
    private func descriptor(of vnode: Vnode) throws(WatchError) -> Int32? {
        do throws(SystemError) {
            // The path contains no links, so a link was created just now.
            let descriptor = try calls.openFile(ResolvedPath(splitting: vnode.path), vnodes.openFlags | O_NOFOLLOW)
            var isOpened = false
            defer { if !isOpened { calls.discard(descriptor) } }
            isOpened = try Vnode(vnode.path, calls.status(of: descriptor).identity) == vnode
            return isOpened ? descriptor : nil
        } catch let error where error.isMissing || error.code == ELOOP {
            return nil
        } catch {
            throw WatchError(error, at: vnode.path)
        }
    }

    /// Ends a subscription, and the watch that has no others.
    func cancel(_ subscription: Subscription) {
        let ended: ActivatedSource? = entries.withLock { entries in
            entries[subscription.vnode]?.subscribers[subscription.number] = nil
            guard entries[subscription.vnode]?.subscribers.isEmpty == true else { return nil }
            return entries.removeValue(forKey: subscription.vnode)?.source
        }
        ended?.cancel()
    }

    /// Processes events of a source, nil when it has taken effect. Called on the queue.
    private func receive(_ mask: DispatchSource.FileSystemEvent?, of vnode: Vnode, from number: UInt64) {
        let subscribers = entries.withLock { entries in
            guard entries[vnode]?.number == number else { return [(role: Role, handler: @Sendable (PathEvents) -> Void)]() }
            if mask == nil { entries[vnode]?.isRegistered = true }
            return entries[vnode].map { Array($0.subscribers.values) } ?? []
        }
        for (role, handler) in subscribers {
            guard let mask else {
                handler(.rerouted)
                continue
            }
            let events = mask.intersection(role.mask)
            if !events.isEmpty { handler(role.events(events)) }
        }
    }
}
