import Foundation

/// SQLite with a write-ahead log: a table of names and values, and prepared statements.
final class SQLite: KeyValuePeer {
    private typealias Open = @convention(c) (UnsafePointer<CChar>, UnsafeMutablePointer<OpaquePointer?>) -> CInt
    private typealias Execute =
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>, OpaquePointer?, OpaquePointer?, OpaquePointer?
        ) -> CInt
    private typealias Prepare =
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>, CInt, UnsafeMutablePointer<OpaquePointer?>, OpaquePointer?
        ) -> CInt
    private typealias BindBytes = @convention(c) (OpaquePointer, CInt, UnsafeRawPointer?, CInt, OpaquePointer?) -> CInt
    private typealias Call = @convention(c) (OpaquePointer) -> CInt

    static let missing: String? = library == nil ? "needs SQLite (Debian: libsqlite3-0)" : nil
    private static let library = SharedLibrary("libsqlite3.so.0", "libsqlite3.dylib")
    private static let (row, done): (CInt, CInt) = (100, 101)

    private let database: OpaquePointer
    private let (selecting, inserting): (OpaquePointer, OpaquePointer)
    private let (bindText, bindBlob): (BindBytes, BindBytes)
    private let (step, reset, finalize, close): (Call, Call, Call, Call)
    private let bindInteger: @convention(c) (OpaquePointer, CInt, Int64) -> CInt
    private let integer: @convention(c) (OpaquePointer, CInt) -> Int64
    private let execute: Execute

    init(in folder: URL, isDurable: Bool) throws {
        guard let library = Self.library else { throw Failure("there is no SQLite") }
        let open: Open = try library.function("sqlite3_open")
        let prepare: Prepare = try library.function("sqlite3_prepare_v2")
        let execute: Execute = try library.function("sqlite3_exec")
        var opened: OpaquePointer?
        let status = open(folder.appendingPathComponent("settings.db").path, &opened)
        guard status == 0, let database = opened else { throw Failure("SQLite cannot open a database") }
        let setUp = """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = \(isDurable ? "FULL" : "NORMAL");
            CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value) WITHOUT ROWID
            """
        try Failure.unless(execute(database, setUp, nil, nil, nil) == 0, "SQLite cannot make a table")
        func statement(_ text: String) throws -> OpaquePointer {
            var statement: OpaquePointer?
            guard prepare(database, text, -1, &statement, nil) == 0, let statement else { throw Failure("SQLite cannot prepare") }
            return statement
        }
        (self.database, self.execute) = (database, execute)
        selecting = try statement("SELECT value FROM settings WHERE name = ?")
        inserting = try statement("INSERT OR REPLACE INTO settings VALUES (?, ?)")
        bindText = try library.function("sqlite3_bind_text")
        bindBlob = try library.function("sqlite3_bind_blob")
        bindInteger = try library.function("sqlite3_bind_int64")
        integer = try library.function("sqlite3_column_int64")
        step = try library.function("sqlite3_step")
        reset = try library.function("sqlite3_reset")
        finalize = try library.function("sqlite3_finalize")
        close = try library.function("sqlite3_close")
    }

    deinit {
        for statement in [selecting, inserting] { _ = finalize(statement) }
        _ = close(database)
    }

    func fill(_ entries: [(name: String, value: Data)]) throws {
        _ = execute(database, "BEGIN", nil, nil, nil)
        for (name, value) in entries {
            try insert(name) { inserting in
                value.withUnsafeBytes { _ = bindBlob(inserting, 2, $0.baseAddress, CInt($0.count), nil) }
            }
        }
        try Failure.unless(execute(database, "COMMIT", nil, nil, nil) == 0, "SQLite cannot commit")
    }

    func set(_ name: String, to value: Int) throws {
        try insert(name) { _ = bindInteger($0, 2, Int64(value)) }
    }

    func value(of name: String) throws -> Int {
        try name.utf8CString.withUnsafeBufferPointer { text in
            _ = bindText(selecting, 1, text.baseAddress, CInt(text.count - 1), nil)
            defer { _ = reset(selecting) }
            try Failure.unless(step(selecting) == Self.row, "SQLite does not have \(name)")
            return Int(integer(selecting, 0))
        }
    }

    private func insert(_ name: String, _ bind: (OpaquePointer) -> Void) throws {
        try name.utf8CString.withUnsafeBufferPointer { text in
            _ = bindText(inserting, 1, text.baseAddress, CInt(text.count - 1), nil)
            bind(inserting)
            defer { _ = reset(inserting) }
            try Failure.unless(step(inserting) == Self.done, "SQLite cannot store \(name)")
        }
    }
}
