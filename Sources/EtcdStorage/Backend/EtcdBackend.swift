public import Dispatch
public import ObservableStorage
import PropertyListCoding

/// Entries in an etcd cluster, for any number of processes on any number of machines.
///
/// Each entry is one key of etcd, `PREFIX/NAME`, whose value is a binary property list; XML and JSON are decoded, too, and any other value is data. Open a
/// store on it with `ObservableStore.open(_:defaults:mandatory:overrides:)`. Several stores may share one backend, which watches the cluster once for all of
/// them, from its first use until it is released.
///
/// The entries are kept in memory, and stay readable without the cluster. An edit is one transaction of etcd. If what the edit has read
/// has changed, it runs again on newer entries. It takes effect exactly once, even if a member stops before it responds.
public final class EtcdBackend: StorageBackend, CommittingBackend {
    // etcd's default limit, without what a request contains besides names and values.
    private static let requestSize = 1_572_864 - 65_536
    // etcd's default limit of 128, without those of the token, the fence and the history.
    private static let operations = 125

    /// The name of the storage in errors: the members and the prefix.
    public let name: String
    /// What etcd accepts in one transaction by default: 128 operations, three of which are the backend's own, and 1.5 MB.
    public let limits: StorageLimits
    let keys: EntryKeys
    let client: EtcdClient
    let follower: EtcdFollower
    /// Those that no edit uses at present.
    let transactions = Lock<[EtcdTransaction]>([])
    /// The transactions whose outcome is unknown, or which the watch has not reached, by the identity under which a store repeats their edits.
    let unresolved = Lock<[UInt64: EtcdTransaction]>([:])

    /// Creates a backend, without connecting to the cluster.
    ///
    /// - Throws: `StorageError.invalidConfiguration` if an endpoint, a certificate or a key is not valid, or if TLS is not available;
    ///   `StorageError.unreadable` if a file with a certificate or key cannot be read.
    public convenience init(_ configuration: EtcdConfiguration) throws {
        try self.init(configuration, timing: EtcdWatch.Timing())
    }

    /// - Parameter timing: the timing of its watch.
    init(_ configuration: EtcdConfiguration, timing: EtcdWatch.Timing) throws {
        keys = EntryKeys(prefix: configuration.prefix)
        name = "etcd " + configuration.endpoints.joined(separator: ",") + "/" + configuration.prefix
        limits = StorageLimits(
            operations: Self.operations, commitSize: Self.requestSize - Self.operations * configuration.prefix.utf8.count)
        client = try EtcdClient(configuration)
        follower = EtcdFollower(client, keys, named: name, timing: timing)
    }

    deinit {
        follower.stop()
    }

    // MARK: Reading

    /// Reads all entries at the newest revision.
    ///
    /// - Throws: `StorageError.unreadable` with the reason why no member responds.
    public nonisolated(nonsending) func load() async throws -> StorageEntries {
        try await reading {
            guard follower.latest != nil else { return try await followed().entries }
            return follower.entries(
                of: try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: client.callTimeout))
        }
    }

    /// Runs a closure that reads, and converts its errors to those that a store expects.
    nonisolated(nonsending) func reading<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError.unreadable(file: name, reason: "\(error)")
        }
    }

    /// The latest state of the keys, after beginning to follow them if necessary.
    nonisolated(nonsending) func followed() async throws -> EtcdReplica.View {
        follower.start()
        return try await follower.current(until: .now + client.callTimeout)
    }

    /// Reports changes as they arrive, and whether the cluster can be reached.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        follower.start()
        let token = follower.events.subscribe { event in queue.async { report(event) } }
        for failure in follower.read({ Array($0.failures.values) }) ?? [] { queue.async { report(.failed(failure)) } }
        if revision == nil || follower.latest?.entries.revision != revision { queue.async { report(.changed) } }
        return token
    }

    // MARK: Editing

    /// Runs an edit on the newest entries, and stores the result in one transaction. If what the edit has read has changed, it runs again.
    ///
    /// - Throws: the error of the closure; `StorageError.unwritable` with the reason why etcd does not store the result;
    ///   `StorageError.tooLarge`; `StorageError.outcomeUnknown` if no member confirms in time whether it is stored.
    public nonisolated(nonsending) func edit(
        _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        try await edit(CommitOptions(), body)
    }

    /// Runs an edit as ``edit(_:)`` does, for a commit of a store.
    package nonisolated(nonsending) func edit(
        _ options: CommitOptions, _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        try await writing { try await withTransaction { try await store(options, body, by: &$0) } }.get()
    }

    /// Runs a closure that writes, and converts its errors to those that a store expects.
    nonisolated(nonsending) func writing<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error where error is StorageError || error is CancellationError {
            throw error
        } catch {
            throw StorageError.unwritable(file: name, reason: "\(error)")
        }
    }

    /// Stores an edit; the result is the error of its closure if that throws.
    private nonisolated(nonsending) func store(
        _ options: CommitOptions, _ body: (inout StorageEntries) throws -> Void, by transaction: inout EtcdTransaction
    ) async throws -> Result<StorageEntries, any Error> {
        var latest = try await followed()
        let outcomes = try await outcomes(of: options.unknown)
        if !outcomes.isEmpty {
            options.whenResolved?(outcomes)
            latest = follower.latest ?? latest
        }
        transaction.identity = options.identity
        var conflicts = 0
        while true {
            var edited = latest.entries.stored(at: latest.entries.revision)
            let result = Result { try body(&edited) }
            if case .success = result, !edited.editedKeys.isEmpty {
                if let stored = try await transaction.commit(edited, over: latest.entries) { return .success(stored) }
                // A random time after repeated conflicts, so that several writers do not block each other forever.
                if conflicts > 0 {
                    try await Task.sleep(for: .backoff(after: conflicts, from: .milliseconds(4), to: .milliseconds(64), jitter: 0...1))
                }
                conflicts += 1
            } else {
                let unchanged = result.map { latest.entries }
                // Everything was stored already.
                if case .success = result, edited.readKeys?.isEmpty == true, outcomes.values.contains(true) { return unchanged }
                // An edit that throws or changes nothing may have read outdated entries.
                if try await transaction.isLatest(latest, of: edited.readKeys) { return unchanged }
            }
            latest = try await newer(than: latest)
        }
    }

    /// The state of the keys at a later revision.
    private nonisolated(nonsending) func newer(than replica: EtcdReplica.View) async throws -> EtcdReplica.View {
        // As long as a request may take, and as the watch needs to find out that it has missed something.
        let deadline = ContinuousClock.now + client.callTimeout + follower.timing.suspicion
        if let newer = await follower.newer(than: replica.entries.revision, until: deadline) { return newer }
        try Task.checkCancellation()
        throw EtcdFailure(code: nil, message: "others have changed what was read, but no member sends the changes")
    }
}

extension EtcdBackend: CustomReflectable {
    /// The name, as `dump(_:)` prints it, without the state of the connections.
    public var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .class) }
}
