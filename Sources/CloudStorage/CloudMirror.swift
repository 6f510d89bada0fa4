import Dispatch
import FoundationSubset
public import ObservableStorage
import PropertyListCoding

/// Keeps chosen keys of a store equal on all devices of a user, through iCloud's key-value store.
///
/// The newest edit of a key wins. The mirror pulls before it pushes, never pushes a default, and changes that it pulls have the origin
/// `ChangeOrigin.external`. The page of the module has all rules.
///
/// ```swift
/// let mirror = CloudMirror(store, keys: .volume, .theme)
/// mirror.start()
/// ```
public actor CloudMirror {
    /// What happens to a mirror, besides changes of values.
    public enum Event: Sendable, Hashable {
        /// The first download from the cloud has begun. It has not ended: values arrive until some time later.
        case downloadBegan
        /// The user has signed in to another account. Values that it does not have stay on the device, and are not pushed until they are
        /// edited.
        case accountChanged
        /// The cloud is full: edits stay on the device until something is removed.
        case quotaExceeded
        /// A key or its value cannot be stored in the cloud.
        case refused(key: String, reason: String)
        /// A value in the cloud is not a value of its key, or cannot be stored here; the value on the device is kept.
        case rejected(StorageError)
    }

    private nonisolated let store: ObservableStore
    private nonisolated let remote: any CloudRemote
    private nonisolated let keys: [any AnyStorageKey]
    nonisolated let executor = DispatchQueueExecutor(label: "CloudMirror")
    private nonisolated let publisher = ChangePublisher<Event>()
    private nonisolated let clock: @Sendable () -> Int64
    private nonisolated let afterDelay: @Sendable (DispatchTimeInterval, @escaping @Sendable () -> Void) -> Void
    /// The state while the mirror runs.
    private var state: CloudMirrorState?
    private var tokens: [ObservationToken] = []
    /// Waits for the store's storage to be opened; nil if the mirror runs or was stopped.
    private var opening: Task<Void, Never>?
    // A download takes seconds.
    private var backoff = Backoff(firstDelay: 2000)
    /// The number of delays that have begun: only the end of the last one counts.
    private var delays = 0

    /// The mirror's serial dispatch queue.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Creates a mirror of some keys of a store; ``start()`` begins.
    ///
    /// A secret (`StorageKey.secret()`) is refused, which is reported in the store's `failures`: the mirror has the other keys.
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

    /// Creates a mirror of some keys of a group; ``start()`` begins.
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

    /// Begins to mirror: pulls what is newer in the cloud, then pushes what is newer here.
    ///
    /// Edits from now on are mirrored. Returns immediately; the work is done on a queue of the mirror. It goes on until ``stop()``, until
    /// the mirror is released, or until the store is closed. While the store's storage could not be opened yet, the mirror waits for that,
    /// because the stored values and the times of their edits are not known. A read-only store is not mirrored, which is reported in its
    /// `failures`.
    public nonisolated func start() {
        // The times of edits could not be stored.
        if store.isReadOnly { return store.report(.readOnly(file: store.name)) }
        guard store.isOpened else { return perform { $0.waitUntilOpened() } }
        let (keys, entries, tokens) = observe()
        perform { $0.begin(keys, entries, tokens) }
    }

    private nonisolated func observe() -> Beginning {
        let keys = keys.map { store.mirrored($0) }
        // Observed before the values are read: nothing is missed, and what is seen twice is the same the second time.
        let tokens = keys.map(observe) + [remote.observe { [weak self] change in self?.perform { $0.receive(change) } }]
        let entries = store.entries(of: keys.flatMap { [$0.name, CloudStamp.entryName(of: $0.name)] })
        return (keys, entries, tokens)
    }

    /// Ends the mirroring after the work in progress; ``start()`` begins again. Both sides keep their values.
    public nonisolated func stop() {
        perform { $0.end() }
    }

    /// Pushes the values of which no mirror has seen an edit, where the cloud has none: those that were stored before the program mirrored
    /// them.
    ///
    /// A mirror does not do that by itself, because a cloud that has not been downloaded yet looks like an empty one. Such a value has no
    /// time: every edit on any device takes precedence over it.
    public nonisolated func uploadExisting() {
        perform { $0.handle(.uploading) }
    }

    /// What happens to the mirror from now on, as a new stream for each call, until the mirror is released.
    ///
    /// A quota that is exceeded, a refused key and a rejected value are also reported in the store's `failures`.
    public nonisolated var events: AsyncStream<Event> {
        publisher.stream()
    }

    private nonisolated func perform(_ body: @escaping @Sendable (isolated CloudMirror) -> Void) {
        executor.queue.async { [weak self] in self?.assumeIsolated(body) }
    }
}

// Inputs.
extension CloudMirror {
    private typealias Beginning = (
        keys: [MirroredKey], entries: [String: PropertyListValue], tokens: [ObservationToken]
    )

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
        // Stopped meanwhile.
        guard opening != nil else { return }
        let (keys, entries, tokens) = observe()
        begin(keys, entries, tokens)
    }

    /// - Parameters:
    ///   - entries: the values of the keys, and their times, when the mirror was started.
    ///   - tokens: the observation of the keys and of the cloud since then.
    private func begin(_ keys: [MirroredKey], _ entries: [String: PropertyListValue], _ tokens: [ObservationToken]) {
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
        // Notifications of edits that were made meanwhile may have come before the state.
        for key in keys { look(at: key.name) }
    }

    private nonisolated func observe(_ key: MirroredKey) -> ObservationToken {
        store.observeEntry(key.name) { [weak self, clock] change in
            // The time of the edit is taken here: the mirror's queue may come to it after a later edit elsewhere.
            let time = clock()
            self?.perform { $0.look(at: change.key, after: change, of: time) }
        } onFinish: { [weak self] in
            self?.perform { $0.end() }
        }
    }

    /// Compares the present value of a key with the last known one.
    ///
    /// - Parameter time: the time of the change.
    private func look(at name: String, after change: Change<PropertyListValue?>? = nil, of time: Int64? = nil) {
        let stampName = CloudStamp.entryName(of: name)
        let entries = store.entries(of: [name, stampName])
        let isMigration = change?.origin == .migration
        // Of a migration that was followed by an edit, only the edit counts.
        if isMigration, entries[name] != change?.newValue { return }
        // A default may be what observers see of a removal.
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

    private func end() {
        opening?.cancel()
        opening = nil
        state = nil
        let ended = tokens
        tokens = []
        for token in ended { token.cancel() }
    }
}

// Actions.
extension CloudMirror {
    /// - Parameter time: the time of the input; nil for now.
    private func handle(_ input: CloudMirrorState.Input, at time: Int64? = nil) {
        var (inputs, time) = ([input], time)
        while !inputs.isEmpty {
            guard let actions = state?.handle(inputs.removeFirst(), now: time.take() ?? clock()) else { return }
            inputs += perform(actions)
        }
    }

    /// Performs actions, and returns edits that were made before a pulled value could replace them.
    private func perform(_ actions: [CloudMirrorState.Action]) -> [CloudMirrorState.Input] {
        var (pulls, notes, hasPushed): ([ObservableStore.Replacement], EntryEdits, Bool) = ([], [:], false)
        for action in actions {
            switch action {
            case .pull(let name, let old, let new, let stamp):
                pulls.append((name, old, new, (CloudStamp.entryName(of: name), stamp.entry(beside: new))))
            case .note(let name, let stamp):
                notes.updateValue(stamp?.entry(beside: state?.value(of: name)), forKey: CloudStamp.entryName(of: name))
            case .push(let name, let entry):
                remote.set(entry, forKey: name)
                hasPushed = true
            case .wait:
                delays += 1
                afterDelay(backoff.fail()) { [weak self, delays] in
                    self?.perform { mirror in
                        if mirror.delays == delays { mirror.handle(.waited(mirror.remote.values())) }
                    }
                }
            case .tell(let event): tell(event)
            }
        }
        // Before the times are noted: after a crash that loses an edit in memory, the stored time would tell that it was pushed.
        if hasPushed { remote.synchronize() }
        do throws(StorageError) {
            let missed = try store.replace(pulls)
            try store.note(notes)
            confirmStored(pulls)
            return missed.map { name, value in .missed(name, value) }
        } catch {
            if error != .closed { store.report(error) }
            end()
            return []
        }
    }

    /// Records when pulled values are stored: a change that the storage has afterwards is none that was made before.
    private func confirmStored(_ pulls: [ObservableStore.Replacement]) {
        if pulls.isEmpty { return }
        Task { [weak self, store] in
            do {
                try await store.flush(to: .journal)
            } catch {
                // The store has reported it, and writes them later.
                return
            }
            let present = store.entries(of: pulls.map(\.name))
            let stored = pulls.reduce(into: EntryEdits()) { if present[$1.name] == $1.new { $0.updateValue($1.new, forKey: $1.name) } }
            self?.perform { $0.handle(.stored(stored)) }
        }
    }

    private func tell(_ event: Event) {
        publisher.publish(event)
        switch event {
        case .downloadBegan, .accountChanged: break
        case .quotaExceeded: store.report(.unmirrored(key: nil, reason: "iCloud is full; remove something from it"))
        case .refused(let key, let reason): store.report(.unmirrored(key: key, reason: reason))
        case .rejected(let error): store.report(error)
        }
    }
}
