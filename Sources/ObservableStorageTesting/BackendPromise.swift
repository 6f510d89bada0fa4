public import ObservableStorage

/// What a `StorageBackend` must guarantee, and what it may also provide.
///
/// A test of a backend checks each of them, on an empty storage:
///
/// ```swift
/// @Test("A backend keeps its promises", arguments: BackendPromise.allCases)
/// func promises(promise: BackendPromise) async throws {
///     let folder = try TemporaryFolder()
///     try await promise.check { try SQLiteBackend(at: folder.file("settings.db")) }
/// }
/// ```
///
/// For a backend that has no revisions, differences, commits or limits, those checks succeed.
public enum BackendPromise: String, Sendable, CaseIterable {
    /// An edit runs on the latest entries, with no other edit in between, by any process that uses the storage.
    case order
    /// The edits have been stored when `edit` returns; if it throws, none of them was.
    case durability
    /// `watch` reports at its start, and whenever something may have changed, including the backend's own edits.
    case reports
    /// A value is read back as `storable` has returned it; what it refuses is refused.
    case values
    /// A revision increases with each edit, and never decreases.
    case revisions
    /// Reported differences lead from the entries at one revision to those at a later one.
    case differences
    /// `commits(since:)` returns every edit after a revision, in order, with the values before and after it.
    case commits
    /// Edits conflict with changes of what they have read, and with nothing else.
    case reads
    /// An edit as large as the limits allow is stored.
    case limits
    /// A storage that can be reached is not reported as unreachable, and edits that it could not store are not stored later.
    case reachability

    /// Checks the promise on a storage that is empty.
    ///
    /// - Parameters:
    ///   - timeout: how long to wait for a report.
    ///   - interrupt: called with true to make the storage unreachable, and with false to make it reachable again; nil if the test has no
    ///     means to do so. Only ``reachability`` calls it.
    ///   - open: opens the storage as another process would. It returns the same backend each time if only one may use the storage.
    /// - Throws: ``BrokenPromise``.
    public func check(
        timeout: Duration = .seconds(60), interrupt: (@Sendable (Bool) async throws -> Void)? = nil,
        _ open: @escaping @Sendable () async throws -> any StorageBackend
    ) async throws {
        let check = PromiseCheck(promise: self, timeout: timeout, interrupt: interrupt, open: open)
        do {
            switch self {
            case .order: try await check.order()
            case .durability: try await check.durability()
            case .reports: try await check.reports()
            case .values: try await check.values()
            case .revisions: try await check.revisions()
            case .differences: try await check.differences()
            case .commits: try await check.commits()
            case .reads: try await check.reads()
            case .limits: try await check.limits()
            case .reachability: try await check.reachability()
            }
        } catch let error as BrokenPromise {
            throw error
        } catch {
            throw BrokenPromise(promise: self, reason: "an error was thrown: \(error)")
        }
    }
}

/// A promise that a backend has not kept.
public struct BrokenPromise: Error, Sendable, CustomStringConvertible {
    /// The promise.
    public let promise: BackendPromise
    /// What happened instead.
    public let reason: String

    /// The promise and what happened instead.
    public var description: String { "the promise of \(promise.rawValue) is broken: \(reason)" }
}
