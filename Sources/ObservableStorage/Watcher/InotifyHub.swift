#if os(Linux)
    import Dispatch
    import FoundationSubset

    /// The process's one inotify instance, shared by all watchers: the kernel allows a user few instances and many watches.
    final class InotifyHub: Sendable {
        typealias State = (instance: InotifyInstance?, table: InotifyTable)

        static let shared = InotifyHub(calls: .system)

        let calls: InotifyCalls
        let files: FileSystemCalls
        let state = Lock<State>((nil, InotifyTable()))
        private let mountReports = Lock(false)

        /// - Parameters:
        ///   - calls: the kernel's inotify.
        ///   - files: the calls by which paths are resolved, and by which the instance is read and closed.
        init(calls: InotifyCalls, files: FileSystemCalls = .live) {
            self.calls = calls
            self.files = files
        }

        deinit {
            // The end of a watch is an event, after which the thread that waits for events ends.
            guard let instance = state.withLock({ $0.instance?.descriptor }) else { return }
            _ = calls.unwatch(instance, calls.watch(instance, "/", UInt32(IN_DELETE_SELF)))
        }

        /// The service that watchers use, backed by this hub.
        ///
        /// - Parameter reportsCreation: whether a missing file may be created at its path, rather than only renamed to it.
        func service(reportsCreation: Bool = true) -> WatchService {
            WatchService(mechanism: .inotify) { path, handler throws(WatchError) in
                try self.register(path, reportsCreation: reportsCreation, handler: handler)
            }
        }

        var reportsMounts: Bool { mountReports.withLock { $0 } }

        /// Watches a path; the handler is called on the thread that reads the events.
        func register(
            _ path: String, reportsCreation: Bool = true, handler: @escaping @Sendable (PathEvents) -> Void
        ) throws(WatchError) -> InotifyRegistration {
            // Before the path is resolved, so that no mount is missed.
            watchMounts()
            let registration = InotifyRegistration(
                hub: self, path: path, reportsCreation: reportsCreation, handler: handler)
            try registration.start()
            return registration
        }

        /// Watches a folder for a name, or a file itself, for a subscriber.
        ///
        /// After it returns, no event of the mask is missed; events of other masks for the same inode are reported as well.
        ///
        /// - Returns: nil if the file or folder no longer exists, or is no longer a folder.
        func add(
            _ subscriber: InotifyRegistration, path: String, name: String?, for mask: UInt32
        ) throws(WatchError) -> WatchKey? {
            // One critical section, because an event in between would find no subscriber.
            let (result, disturbed) = state.withLock { state -> (Int32, [Int32]) in
                let instance = open(&state.instance)
                guard instance >= 0 else { return (instance, []) }
                // Added to those of other subscribers, as it is not known which watch it is.
                let watch = calls.watch(instance, path, mask | UInt32(IN_MASK_ADD))
                guard watch >= 0 else { return (watch, []) }
                let before = state.table.insert(subscriber, for: WatchKey(watch: watch, name: name), mask)
                if state.table.needs(before & ~mask, of: watch) { return (watch, []) }
                return (watch, set(state.table.mask(of: watch), of: watch, at: path, &state))
            }
            reportLoss(of: disturbed)
            switch -result {
            case ENOENT, ENOTDIR, ELOOP: return nil
            case ENOSPC: throw WatchError(reason: "no inotify watches are left (fs.inotify.max_user_watches)")
            case EMFILE: throw WatchError(reason: "no inotify instance or descriptor is left (fs.inotify.max_user_instances)")
            case let code where code > 0: throw WatchError(SystemError(code), at: path)
            default: return WatchKey(watch: result, name: name)
            }
        }

        /// Ends subscriptions, and the watches that have no others.
        func remove(_ subscriber: InotifyRegistration, keys: some Sequence<WatchKey>) {
            state.withLock { state in
                for key in keys where state.table.remove(subscriber, for: key) {
                    // The kernel may have ended the watch already.
                    if let instance = state.instance { _ = calls.unwatch(instance.descriptor, key.watch) }
                }
            }
        }

        /// Sets the events of a watch.
        ///
        /// - Returns: the watches whose events may be lost, because the path leads to another inode meanwhile.
        func set(_ mask: UInt32, of watch: Int32, at path: String, _ state: inout State) -> [Int32] {
            guard let instance = state.instance?.descriptor else { return [watch] }
            let found = calls.watch(instance, path, mask)
            if found == watch { return [] }
            if found >= 0, state.table.mask(of: found) == 0 { _ = calls.unwatch(instance, found) }
            return [watch, found]
        }

        /// Makes the subscribers of watches resolve their paths, and request their events again.
        func reportLoss(of watches: [Int32]) {
            for watch in watches { deliver(InotifyEvent(watch: watch, mask: UInt32(IN_UNMOUNT), name: nil)) }
        }

        private func watchMounts() {
            mountReports.withLock { isOn in
                if isOn { return }
                isOn = calls.watchMounts { [weak self] points in
                    guard let self else { return false }
                    for subscriber in self.state.withLock({ $0.table.all }) { subscriber.mountsChanged(at: points) }
                    return true
                }
            }
        }

        private func open(_ instance: inout InotifyInstance?) -> Int32 {
            if let instance { return instance.descriptor }
            let descriptor = calls.open()
            guard descriptor >= 0 else { return descriptor }
            let opened = InotifyInstance(descriptor: descriptor, files: files)
            instance = opened
            // A thread that waits, one of Dispatch's, as these receive no signals. A Dispatch source wakes two threads for an event, with
            // which external.100 takes 1.3 times as long.
            DispatchQueue(label: "ObservableStorage.InotifyHub").async { [weak self] in
                opened.readEvents { events in
                    guard let self else { return false }
                    InotifyEvent.forEach(in: events, self.deliver)
                    return true
                }
            }
            return descriptor
        }

        private func deliver(_ event: InotifyEvent) {
            let subscribers = state.withLock { state in
                let subscribers = state.table.subscribers(of: event)
                if event.contains(IN_IGNORED) { state.table.forget(event.watch) }
                return subscribers
            }
            for subscriber in subscribers { subscriber.receive(event) }
        }
    }

    /// An open inotify instance, closed when neither the hub nor the thread that reads it uses it any more.
    final class InotifyInstance: Sendable {
        private static let bufferSize = 64 * 1024

        let descriptor: Int32
        private let files: FileSystemCalls

        init(descriptor: Int32, files: FileSystemCalls) {
            (self.descriptor, self.files) = (descriptor, files)
        }

        deinit {
            files.discard(descriptor)
        }

        /// Waits for events and passes them to a closure, until that returns false.
        func readEvents(_ process: (UnsafeRawBufferPointer) -> Bool) {
            withUnsafeTemporaryAllocation(byteCount: Self.bufferSize, alignment: 16) { buffer in
                var isOpen = true
                while isOpen {
                    let count = try? files.uninterrupted { () throws(SystemError) in try files.readBytes(descriptor, buffer) }
                    guard let count, count > 0 else { return }
                    isOpen = process(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                }
            }
        }
    }

    /// The kernel's inotify functions; a negative result is the negated error number.
    struct InotifyCalls: Sendable {
        /// Creates an instance and returns its descriptor, of which reading waits for events.
        var open: @Sendable () -> Int32
        /// Adds events to the watch of the inode at a path, and returns the watch.
        var watch: @Sendable (_ instance: Int32, _ path: String, _ mask: UInt32) -> Int32
        var unwatch: @Sendable (_ instance: Int32, _ watch: Int32) -> Int32
        /// The type of the file system with a file's device number, as the kernel names it; nil if it is unknown.
        var fileSystemType: @Sendable (_ device: UInt64) -> String?
        var isMountPoint: @Sendable (_ path: String) -> Bool
        /// Calls a listener each time something is mounted or unmounted; returns false if the kernel does not report that.
        var watchMounts: @Sendable (@escaping MountTable.Listener) -> Bool

        static let system = InotifyCalls(
            open: { negated(inotify_init1(Int32(IN_CLOEXEC))) },
            watch: { negated(inotify_add_watch($0, $1, $2)) },
            unwatch: { negated(inotify_rm_watch($0, $1)) },
            fileSystemType: { MountTable.shared.fileSystemType(of: $0) },
            isMountPoint: { MountTable.shared.isMountPoint($0) },
            watchMounts: { MountTable.shared.add($0) })

        private static func negated(_ result: Int32) -> Int32 {
            result < 0 ? -errno : result
        }
    }
#endif
