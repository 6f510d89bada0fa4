import Dispatch

/// The open files and folders of watched paths: each is opened once for all paths, because a process may have few descriptors.
final class VnodeHub: Sendable {
    /// A path's use of an open file or folder.
    struct Subscription: Sendable {
        let role: VnodeWatch.Role
        let identity: FileIdentity
        fileprivate let key: Key
        let number = UniqueNumber.next()
    }

    /// A file or folder, by the path at which it was found.
    fileprivate struct Key: Hashable {
        let path: String
        let device: UInt64
        let inode: UInt64
    }

    private struct Entry {
        let watch: VnodeWatch
        /// Distinguishes the watch from one that it has replaced.
        let number: UInt64
        /// Whether the watch has taken effect.
        var isRegistered = false
        var subscribers: [UInt64: (role: VnodeWatch.Role, handler: @Sendable (PathEvents) -> Void)] = [:]
    }

    private let vnodes: VnodeCalls
    private let calls: FileSystemCalls
    private let queue = DispatchQueue(label: "ObservableStorage.VnodeHub", qos: .userInitiated)
    private let entries = Lock<[Key: Entry]>([:])

    init(vnodes: VnodeCalls, calls: FileSystemCalls) {
        (self.vnodes, self.calls) = (vnodes, calls)
    }

    /// Watches the file or folder that was found at a path; returns nil if it is no longer there.
    ///
    /// Once the watch has taken effect, the handler is called with ``PathEvents/rerouted``, for earlier changes. Must not be called by a
    /// handler.
    func subscribe(
        to path: String, as role: VnodeWatch.Role, found identity: FileIdentity, handler: @escaping @Sendable (PathEvents) -> Void
    ) throws(WatchError) -> Subscription? {
        let key = Key(path: path, device: identity.device, inode: identity.inode)
        let subscription = Subscription(role: role, identity: identity, key: key)
        // On the queue, so that no event precedes its subscriber, and no file is opened twice.
        let result = queue.sync { () -> Result<Bool, WatchError> in
            Result { () throws(WatchError) in
                if entries.withLock({ $0[key].map { $0.watch.role.rawValue < role.rawValue } ?? true }) {
                    guard try open(key, as: role) else { return false }
                }
                let isRegistered = entries.withLock { entries in
                    entries[key]?.subscribers[subscription.number] = (role, handler)
                    return entries[key]?.isRegistered ?? false
                }
                if isRegistered { queue.async { handler(.rerouted) } }
                return true
            }
        }
        return try result.get() ? subscription : nil
    }

    /// Opens a watch, which replaces one for fewer events; returns false if another file is at the path.
    private func open(_ key: Key, as role: VnodeWatch.Role) throws(WatchError) -> Bool {
        let number = UniqueNumber.next()
        let opened = try VnodeWatch(path: key.path, role: role, queue: queue, vnodes: vnodes, calls: calls) { [weak self] events in
            self?.receive(events, of: key, from: number)
        }
        guard let opened else { return false }
        guard (opened.identity.device, opened.identity.inode) == (key.device, key.inode) else {
            opened.cancel()
            return false
        }
        let replaced = entries.withLock { entries in
            defer { entries[key] = Entry(watch: opened, number: number, subscribers: entries[key]?.subscribers ?? [:]) }
            return entries[key]?.watch
        }
        replaced?.cancel()
        return true
    }

    /// Ends a subscription, and the watch that has no others.
    func cancel(_ subscription: Subscription) {
        let ended: VnodeWatch? = entries.withLock { entries in
            entries[subscription.key]?.subscribers[subscription.number] = nil
            guard entries[subscription.key]?.subscribers.isEmpty == true else { return nil }
            return entries.removeValue(forKey: subscription.key)?.watch
        }
        ended?.cancel()
    }

    /// Processes events of a watch, nil when it has taken effect. Called on the queue.
    private func receive(_ mask: DispatchSource.FileSystemEvent?, of key: Key, from number: UInt64) {
        let subscribers = entries.withLock { entries in
            guard entries[key]?.number == number else { return [(role: VnodeWatch.Role, handler: @Sendable (PathEvents) -> Void)]() }
            if mask == nil { entries[key]?.isRegistered = true }
            return entries[key].map { Array($0.subscribers.values) } ?? []
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
