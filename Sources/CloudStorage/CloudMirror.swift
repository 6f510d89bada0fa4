import Dispatch
import FoundationSubset
public import ObservableStorage

/// Keeps chosen keys of a store in sync on all devices of a user, through iCloud's key-value store.
///
/// The newest edit of a key wins. The mirror pulls before it pushes, and never pushes a default; pulled changes have the origin
/// `ChangeOrigin.external`. The page of the module lists all rules.
///
/// ```swift
/// let mirror = CloudMirror(store, keys: .volume, .theme)
/// mirror.start()
/// ```
public actor CloudMirror {
    /// An event other than a change of a value.
    public enum Event: Sendable, Hashable {
        /// The first download from the cloud has begun. Its values arrive later; its end is not reported.
        case downloadBegan
        /// The user has signed in to another account. Values that the account does not have stay on the device, and are not pushed until
        /// they are edited.
        case accountChanged
        /// The cloud is full: edits stay on the device until something is removed.
        case quotaExceeded
        /// A key or its value cannot be stored in the cloud.
        case refused(key: String, reason: String)
        /// A value in the cloud is not a value of its key, or cannot be stored here; the value on the device is kept.
        case rejected(StorageError)
    }

    nonisolated let store: ObservableStore
    nonisolated let remote: any CloudRemote
    private nonisolated let keys: [any AnyStorageKey]
    nonisolated let executor = DispatchQueueExecutor(label: "CloudMirror")
    nonisolated let publisher = ChangePublisher<Event>()
    nonisolated let clock: @Sendable () -> Int64
    nonisolated let afterDelay: @Sendable (DispatchTimeInterval, @escaping @Sendable () -> Void) -> Void
    /// The state while the mirror runs; nil before and after.
    var state: CloudMirrorState?
    private var tokens: [ObservationToken] = []
    /// Waits for the store's storage to be opened; nil if the mirror runs or was stopped.
    private var opening: Task<Void, Never>?
    private var uploadsWhenOpened = false
    // Milliseconds: a download takes seconds.
    var backoff = Backoff(firstDelay: 2000)
    /// The number of delays that have started: only the end of the latest one counts.
    var delays = 0

    /// The mirror's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// Creates a mirror of some keys of a store. Call ``start()`` to begin.
    ///
    /// A secret (`StorageKey.secret()`) is refused, which is reported in the store's `failures`; the other keys are mirrored.
    ///
    /// - Parameters:
    ///   - store: the store, which the mirror retains.
    ///   - keys: the keys. Their names in the cloud are those in the store.
    ///   - remote: the cloud.
    public init<each Value: Sendable>(_ store: ObservableStore, keys: repeat StorageKey<each Value>, remote: any CloudRemote) {
        var list: [any AnyStorageKey] = []
        func append(_ key: some AnyStorageKey) { list.append(key) }
        repeat append(each keys)
        self.init(store, list, remote)
    }

    /// Creates a mirror of some keys of a group. Call ``start()`` to begin.
    ///
    /// - Parameters:
    ///   - settings: access to the store, which the mirror retains.
    ///   - paths: the key paths of the keys.
    ///   - remote: the cloud.
    public init<Keys: KeyGroup, each Value: Sendable>(
        _ settings: KeyedStore<Keys>, _ paths: repeat KeyPath<Keys, StorageKey<each Value>>, remote: any CloudRemote
    ) {
        self.init(settings.store, keys: repeat settings.key(each paths), remote: remote)
    }

    init(
        _ store: ObservableStore, _ keys: [any AnyStorageKey], _ remote: any CloudRemote,
        clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1_000_000) },
        afterDelay: @escaping @Sendable (DispatchTimeInterval, @escaping @Sendable () -> Void) -> Void = { delay, body in
            DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay, execute: body)
        }
    ) {
        self.store = store
        self.remote = remote
        self.keys = keys.filter { !$0.isSecret }
        self.clock = clock
        self.afterDelay = afterDelay
        for key in keys where key.isSecret { store.report(Self.refusal(of: key)) }
    }

    private static func refusal(of key: some AnyStorageKey) -> StorageError {
        .unmirrored(key: key.storageKey.name, reason: "it is a secret; use a keychain that the devices share")
    }

    deinit {
        opening?.cancel()
        publisher.finish()
    }

    /// Starts mirroring: pulls what is newer in the cloud, then pushes what is newer here.
    ///
    /// Returns immediately; the work is done on a queue of the mirror, until ``stop()`` is called, the mirror is released, or the store is
    /// closed. If the store's storage could not be opened yet, the mirror waits for it, because the stored values and the times of their
    /// edits are not known before. A read-only store is not mirrored, which is reported in its `failures`.
    public nonisolated func start() {
        // It could not store the times of edits.
        if store.isReadOnly { return store.report(.readOnly(file: store.name)) }
        guard store.isOpened else { return perform { $0.waitUntilOpened() } }
        let beginning = observe()
        perform { $0.begin(beginning) }
    }

    private nonisolated func observe() -> Beginning {
        let keys = keys.map { store.mirrored($0) }
        // Observed before the values are read, so that no change is missed. A change that is seen twice has no effect the second time.
        let tokens = keys.map(observe) + [remote.observe { [weak self] change in self?.perform { $0.receive(change) } }]
        let entries = store.entries(of: keys.flatMap { [$0.name, CloudStamp.entryName(of: $0.name)] })
        return (keys, entries, tokens)
    }

    /// Stops mirroring after the work in progress; ``start()`` resumes it. Both sides keep their values.
    public nonisolated func stop() {
        perform { $0.end() }
    }

    /// Pushes the values that were stored before the program mirrored them, if the cloud has no value for their keys.
    ///
    /// A mirror does not do that by itself, because a cloud that has not been downloaded yet looks like an empty one. Such a value has no
    /// time of an edit, so an edit on any device takes precedence over it. A mirror that waits for the store's storage does it when that is
    /// opened; one that was not started does nothing.
    public nonisolated func uploadExisting() {
        perform { mirror in
            mirror.uploadsWhenOpened = mirror.opening != nil
            mirror.handle(.uploadExisting)
        }
    }

    /// A new stream of later events, which ends when the mirror is released.
    ///
    /// An exceeded quota, a refused key and a rejected value are also reported in the store's `failures`.
    public nonisolated var events: AsyncStream<Event> { publisher.stream() }

    nonisolated func perform(_ body: @escaping @Sendable (isolated CloudMirror) -> Void) {
        executor.queue.async { [weak self] in self?.assumeIsolated(body) }
    }
}

// MARK: - Inputs

extension CloudMirror {
    /// The values of the keys, and their times, when the mirror was started, and the observation of the keys and of the cloud since then.
    private typealias Beginning = (keys: [MirroredKey], entries: [String: PropertyListValue], tokens: [ObservationToken])

    private func waitUntilOpened() {
        guard state == nil, opening == nil else { return }
        opening = Task { [weak self, updates = store.availabilityUpdates] in
            for await _ in updates where self?.store.isOpened == true {
                self?.perform { $0.beginOpened() }
                return
            }
        }
    }

    private func beginOpened() {
        // The mirror was stopped meanwhile.
        if opening != nil { begin(observe()) }
    }

    private func begin(_ beginning: Beginning) {
        let (keys, entries, tokens) = beginning
        opening?.cancel()
        opening = nil
        guard state == nil else { return }
        state = CloudMirrorState(keys)
        self.tokens = tokens
        let stamps = keys.reduce(into: [String: CloudStamp]()) { stamps, key in
            stamps[key.name] = CloudStamp(reading: entries[CloudStamp.entryName(of: key.name)], beside: entries[key.name])
        }
        remote.synchronize()
        handle(.started(values: entries, stamps: stamps, cloud: remote.values()))
        // Notifications of edits made meanwhile may have arrived before there was a state.
        for key in keys { handleEdit(of: key.name) }
        if uploadsWhenOpened { handle(.uploadExisting) }
        uploadsWhenOpened = false
    }

    private nonisolated func observe(_ key: MirroredKey) -> ObservationToken {
        store.observeEntry(key.name) { [weak self, clock] change in
            // The time of the edit is taken here: the mirror's queue may handle it only after a later edit on another device.
            let time = clock()
            self?.perform { $0.handleEdit(of: change.key, after: change, at: time) }
        } onFinish: { [weak self] in
            self?.perform { $0.end() }
        }
    }

    /// Compares the present value of a key with the last known one.
    private func handleEdit(of name: String, after change: Change<PropertyListValue?>? = nil, at time: Int64? = nil) {
        let stampName = CloudStamp.entryName(of: name)
        let entries = store.entries(of: [name, stampName])
        let isMigration = change?.origin == .migration
        // If an edit has followed a migration, only the edit counts.
        if isMigration, entries[name] != change?.newValue { return }
        // Observers may be told of a removal as a change to the default.
        let isExternal = change?.origin == .external && (entries[name] == nil || entries[name] == change?.newValue)
        handle(
            .localChanged(
                name, entries[name], CloudStamp(reading: entries[stampName], beside: entries[name]), isMigration: isMigration,
                isExternal: isExternal),
            at: entries[name] == change?.newValue ? time : nil)
    }

    private func receive(_ change: CloudChange) {
        if change == .serverChange { backoff.succeed() }
        handle(.cloudChanged(change, remote.values()))
    }

    func end() {
        opening?.cancel()
        opening = nil
        uploadsWhenOpened = false
        state = nil
        let cancelled = tokens
        tokens = []
        for token in cancelled { token.cancel() }
    }
}
