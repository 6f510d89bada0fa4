import CSQLite
public import Dispatch
public import Foundation
public import ObservableStorage
import Synchronization

/// The entries of a store as the rows of a table in an SQLite database: the name, and the value as a binary property list.
///
/// Several processes may use the database at the same time, and other tables in it are not affected. Its journal is a write-ahead log,
/// so that readers do not wait for writers.
public final class SQLiteBackend: BlockingStorageBackend {
    /// The path of the database.
    public let name: String
    private let connection: Mutex<Connection>

    /// Opens a database, and creates it and the table if they are missing.
    ///
    /// - Parameters:
    ///   - url: the file of the database.
    ///   - lockTimeout: how long to wait for other processes that write.
    /// - Throws: ``StorageError`` naming the file.
    public init(at url: URL, lockTimeout: Duration = .seconds(10)) throws {
        name = url.path
        connection = Mutex(try Connection(url.path, lockTimeout))
    }

    /// Reads all rows.
    public func load() throws -> StorageEntries {
        try connection.withLock { try $0.entries() }
    }

    /// Runs an edit in a transaction, which excludes all other writers, and writes the rows that it changes.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try connection.withLock { connection in
            try connection.run("BEGIN IMMEDIATE")
            do {
                let before = try connection.entries()
                var after = before
                try body(&after)
                try connection.write(after.changes(since: before), over: before.values)
                try connection.run("COMMIT")
                return StorageEntries(after.values)
            } catch {
                connection.rollBack()
                throw error
            }
        }
    }

    /// Reports commits of any process, including this one: each of them writes to the log.
    public func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        let watcher = FileWatcher(path: name + "-wal", queue: queue) { event in
            switch event {
            case .changed, .recovered: report(.changed)
            case .fallback(let error), .incomplete(let error): report(.failed(error))
            }
        }
        return ObservationToken { watcher.cancel() }
    }
}

/// A connection to the database, for one thread at a time.
private final class Connection {
    private let path: String
    private let lockTimeout: Duration
    private var database: OpaquePointer?

    // SQLite copies the bytes of a parameter before the call returns.
    private static let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)

    init(_ path: String, _ lockTimeout: Duration) throws {
        self.path = path
        self.lockTimeout = lockTimeout
        try check(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil))
        sqlite3_busy_timeout(database, Int32(min(lockTimeout / .milliseconds(1), Double(Int32.max))))
        try run("PRAGMA journal_mode = WAL")
        // A commit is on disk when it returns.
        try run("PRAGMA synchronous = FULL")
        try run("CREATE TABLE IF NOT EXISTS entries (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL)")
    }

    deinit {
        sqlite3_close_v2(database)
    }

    func entries() throws -> StorageEntries {
        var values: [String: PropertyListValue] = [:]
        try run("SELECT name, value FROM entries") { row in
            let name = String(decoding: Self.bytes(row, 0), as: UTF8.self)
            do {
                values[name] = try PropertyListValue.decode(Self.bytes(row, 1)).value
            } catch {
                let reason = "the value of the row \"\(name)\" is not a property list: \(error)"
                throw StorageError.malformed(file: path, offset: nil, reason: reason)
            }
        }
        return StorageEntries(values)
    }

    func write(_ changes: [String: PropertyListValue?], over stored: [String: PropertyListValue]) throws {
        for (key, value) in changes {
            // A canonically equivalent name is the same one in Swift, but another one in SQLite.
            let name = Data((stored.index(forKey: key).map { stored[$0].key } ?? key).utf8)
            guard let value else {
                try run("DELETE FROM entries WHERE name = CAST(? AS TEXT)", [name])
                continue
            }
            do {
                try run("INSERT OR REPLACE INTO entries VALUES (CAST(? AS TEXT), ?)", [name, try value.encoded(as: .binary)])
            } catch let error as PropertyListError {
                throw StorageError.unencodable(key: key, reason: "\(error)")
            }
        }
    }

    /// Runs a statement.
    ///
    /// - Parameters:
    ///   - parameters: the values of its parameters.
    ///   - body: called for each row of the result.
    func run(_ sql: String, _ parameters: [Data] = [], _ body: (_ row: OpaquePointer?) throws -> Void = { _ in }) throws {
        var statement: OpaquePointer?
        try check(sqlite3_prepare_v2(database, sql, -1, &statement, nil))
        defer { sqlite3_finalize(statement) }
        for (index, parameter) in zip(Int32(1)..., parameters) {
            let result = parameter.withUnsafeBytes { bytes in
                // No bytes may have no address, which would be NULL in SQL.
                bytes.isEmpty
                    ? sqlite3_bind_zeroblob(statement, index, 0)
                    : sqlite3_bind_blob64(statement, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
            }
            try check(result)
        }
        while true {
            let result = sqlite3_step(statement)
            guard result == SQLITE_ROW else { return try check(result) }
            try body(statement)
        }
    }

    /// Ends a transaction without its changes; fails only if SQLite has already ended it after an error.
    func rollBack() {
        sqlite3_exec(database, "ROLLBACK", nil, nil, nil)
    }

    private static func bytes(_ row: OpaquePointer?, _ column: Int32) -> Data {
        guard let bytes = sqlite3_column_blob(row, column) else { return Data() }
        return Data(bytes: bytes, count: Int(sqlite3_column_bytes(row, column)))
    }

    private func check(_ result: Int32) throws(StorageError) {
        let reason = String(cString: database == nil ? sqlite3_errstr(result) : sqlite3_errmsg(database))
        switch result {
        case SQLITE_OK, SQLITE_DONE: return
        case SQLITE_BUSY: throw .locked(file: path, waited: lockTimeout)
        case SQLITE_NOTADB, SQLITE_CORRUPT: throw .malformed(file: path, offset: nil, reason: reason)
        case SQLITE_READONLY, SQLITE_FULL: throw .unwritable(file: path, reason: reason)
        default: throw .unreadable(file: path, reason: reason)
        }
    }
}
