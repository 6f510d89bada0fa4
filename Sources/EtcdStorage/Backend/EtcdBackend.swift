public import Dispatch
public import ObservableStorage
import PropertyListCoding

/// Entries in an etcd cluster, for any number of processes on any number of machines.
///
/// Each entry is one key of etcd, `PREFIX/NAME`, with a binary property list as its value; a value that is none is read as data. A store
/// on it is opened with `ObservableStore.open(_:defaults:mandatory:)`; several stores may share one backend, which
/// follows the cluster once for all of them, from its first use until it is released.
///
/// The entries are kept in memory, and stay readable without the cluster. An edit is one transaction of etcd, which is compared with what
/// the edit has read, and made again on newer entries if that has changed; it takes effect once, also if a member stops before it has
/// answered.
public final class EtcdBackend: StorageBackend {
    // What etcd takes by default, less what a request has besides names and values.
    private static let requestSize = 1_572_864 - 65_536
    // The operations of a transaction, less those of the token, the fence and the history.
    private static let operations = 125

    /// The name of the storage in errors: the members and the prefix.
    public let name: String
    /// What etcd takes in one transaction by default: 128 operations, three of which are the backend's own, and 1.5 MB.
    public let limits: StorageLimits
    let keys: EntryKeys
    let client: EtcdClient
    let follower: EtcdFollower
    let transactions: EtcdTransactions
    // Enough for two members to be tried.
    let callTimeout: Duration

    /// Creates a backend, without connecting to the cluster.
    ///
    /// - Throws: `StorageError.invalidConfiguration` if an endpoint, a certificate or a key is not valid, or if TLS is not available;
    ///   `StorageError.unreadable` if a file with a certificate or key cannot be read.
    public convenience init(_ configuration: EtcdConfiguration) throws {
        try self.init(configuration, timing: EtcdWatch.Timing())
    }

    /// - Parameter timing: how long its watch waits for what.
    init(_ configuration: EtcdConfiguration, timing: EtcdWatch.Timing) throws {
        keys = EntryKeys(prefix: configuration.prefix)
        name = "etcd " + configuration.endpoints.joined(separator: ",") + "/" + configuration.prefix
        limits = StorageLimits(
            operations: Self.operations, commitSize: Self.requestSize - Self.operations * configuration.prefix.utf8.count)
        callTimeout = configuration.requestTimeout * 2
        client = try EtcdClient(configuration)
        follower = EtcdFollower(client, keys, named: name, timing: timing)
        transactions = EtcdTransactions(client, follower, keys, named: name, timeout: callTimeout)
    }

    deinit {
        follower.stop()
    }

    // MARK: Reading

    /// Reads all entries at one revision, the newest one.
    ///
    /// - Throws: `StorageError.unreadable` with the reason why no member answers.
    public nonisolated(nonsending) func load() async throws -> StorageEntries {
        try await reading {
            guard follower.known != nil else { return try await followed().entries }
            return try await read()
        }
    }

    /// Reads, and throws errors as a store expects them.
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

    nonisolated(nonsending) func followed() async throws -> EtcdReplica.View {
        follower.start()
        return try await follower.current(until: .now + callTimeout)
    }

    private nonisolated(nonsending) func read() async throws -> StorageEntries {
        let snapshot = try await client.snapshot(from: keys.rangeStart, to: keys.rangeEnd, pageTimeout: callTimeout)
        return follower.entries(of: snapshot)
    }

    /// Whether what an edit without effect has read is what etcd has now.
    ///
    /// - Parameter names: the names of the entries that it has read; nil for all.
    private nonisolated(nonsending) func isLatest(_ replica: EtcdReplica.View, of names: Set<String>?) async throws -> Bool {
        guard let names, !names.isEmpty, names.count <= EntryRevisions.maximumCompares else { return try await isLatest(replica) }
        guard let compares = follower.read({ $0.compares(of: names, read: replica.entries) }) else { return false }
        var request = TxnRequest(compares: compares)
        // Without an operation, a member answers by itself, and may be behind the others.
        request.success = [.range(RangeRequest(key: keys.fence, keysOnly: true))]
        let response = try await client.call(request, isRepeatable: true, deadline: .now + callTimeout)
        return response.header.clusterID == replica.clusterID && response.succeeded
    }

    /// Whether nothing has changed in etcd since a revision.
    private nonisolated(nonsending) func isLatest(_ replica: EtcdReplica.View) async throws -> Bool {
        let newer = RangeRequest(
            key: keys.entriesStart, rangeEnd: keys.rangeEnd, limit: 1, keysOnly: true, minModRevision: replica.revision + 1)
        let response = try await client.call(newer, isRepeatable: true, deadline: .now + callTimeout)
        // What was deleted is missing in the number of keys.
        return response.header.clusterID == replica.clusterID && response.keyValues.isEmpty && response.count == replica.keyCount
    }

    /// Reports differences as they come, and whether the cluster can be reached.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        follower.start()
        let token = follower.events.subscribe { event in queue.async { report(event) } }
        for failure in follower.read({ Array($0.failures.values) }) ?? [] { queue.async { report(.failed(failure)) } }
        if revision == nil || follower.known?.entries.revision != revision { queue.async { report(.changed) } }
        return token
    }

    /// The commits after a revision, as far as etcd has not compacted its history; nil also if the cluster has lost its data since, or was
    /// restored, and for a user who may not write, because their end is found by a write under the prefix.
    public nonisolated(nonsending) func commits(since revision: StorageRevision?) async throws -> [StorageCommit]? {
        try await reading {
            do {
                let replica = try await followed()
                if let revision, revision.history != replica.history { return nil }
                let (last, identity) = try await transactions.run { try await $0.mark(client, callTimeout) }
                // The watch may not have noticed it yet.
                guard replica.identity.isContinued(by: identity, since: replica.revision) else { return nil }
                let history = EtcdHistory(client: client, keys: keys, timeout: callTimeout)
                guard let revision else { return try await history.commits(since: nil, upTo: last, of: replica) }
                guard let number = Int64(exactly: revision.number), number < last else { return nil }
                return try await history.commits(since: number, upTo: last, of: replica)
            } catch let failure as EtcdFailure where failure.isPermissionDenied {
                return nil
            }
        }
    }

    // MARK: Editing

    /// Runs an edit on the newest entries, and stores the result in one transaction, unless what it has read has changed: then again.
    ///
    /// - Throws: the error of the closure; `StorageError.unwritable` with the reason why etcd does not store it;
    ///   `StorageError.tooLarge`; `StorageError.outcomeUnknown` if no member tells in time whether
    ///   it has.
    public nonisolated(nonsending) func edit(
        _ body: @Sendable (inout StorageEntries) throws -> Void
    ) async throws -> StorageEntries {
        do {
            return try await writing { try await transactions.run { try await store(body, by: &$0) } }
        } catch let error as BodyError {
            throw error.error
        }
    }

    /// Writes, and throws errors as a store expects them.
    nonisolated(nonsending) func writing<Result>(
        _ body: nonisolated(nonsending) () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as EtcdFailure where error.isTooLarge {
            throw StorageError.tooLarge(key: nil, reason: error.message)
        } catch let error where error is BodyError || error is StorageError || error is CancellationError {
            throw error
        } catch {
            throw StorageError.unwritable(file: name, reason: "\(error)")
        }
    }

    private nonisolated(nonsending) func store(
        _ body: (inout StorageEntries) throws -> Void, by transaction: inout EtcdTransaction
    ) async throws -> StorageEntries {
        var known = try await followed()
        var outcomes: [UInt64: Bool] = [:]
        while true {
            // What changes nothing, or throws, may have found what is no longer so.
            switch edited(known.entries, outcomes, by: body) {
            case .failure(let error) where error.unknown.isSubset(of: outcomes.keys):
                if try await isLatest(known, of: error.readKeys) { throw error }
            case .failure(let error):
                try await transactions.resolve(error.unknown, &outcomes)
                known = follower.known ?? known
                continue
            case .success(let entries) where !entries.repetition.unknown.isSubset(of: outcomes.keys):
                try await transactions.resolve(entries.repetition.unknown, &outcomes)
                // Not awaited, which might fail: the edit has to be told the outcomes.
                known = follower.known ?? known
                continue
            case .success(let entries)
            where entries.editedKeys.isEmpty && entries.readKeys?.isEmpty == true && outcomes.values.contains(true):
                // Everything was stored already.
                return known.entries
            case .success(let entries) where entries.editedKeys.isEmpty:
                if try await isLatest(known, of: entries.readKeys) { return known.entries }
            case .success(let entries):
                let stored = try await transaction.commit(entries, over: known.entries, client, follower, callTimeout)
                if let stored { return stored }
                try await transaction.pauseAfterConflict()
            }
            known = try await newer(than: known)
        }
    }

    /// An error of the closure that edits.
    private struct BodyError: Error {
        let error: any Error
        let readKeys: Set<String>?
        let unknown: Set<UInt64>
    }

    private func edited(
        _ entries: StorageEntries, _ outcomes: [UInt64: Bool], by body: (inout StorageEntries) throws -> Void
    ) -> Result<StorageEntries, BodyError> {
        var edited = entries.stored(at: entries.revision)
        edited.repetition.outcomes = outcomes
        do {
            try body(&edited)
            return .success(edited)
        } catch {
            return .failure(BodyError(error: error, readKeys: edited.readKeys, unknown: edited.repetition.unknown))
        }
    }

    /// What is known after something has changed.
    private nonisolated(nonsending) func newer(than replica: EtcdReplica.View) async throws -> EtcdReplica.View {
        if let newer = await follower.newer(than: replica.entries.revision, until: .now + follower.timing.arrival) { return newer }
        try Task.checkCancellation()
        throw EtcdFailure(code: nil, message: "others have changed what was read, but no member tells it")
    }
}

extension EtcdBackend: CustomReflectable {
    /// The name, as `dump(_:)` prints it, without what the connections to the cluster hold.
    public var customMirror: Mirror { Mirror(self, children: ["name": name], displayStyle: .class) }
}
