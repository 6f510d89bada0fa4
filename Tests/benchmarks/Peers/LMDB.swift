import Foundation

/// LMDB: a memory-mapped tree of names and values.
final class LMDB: KeyValuePeer {
    /// `MDB_val`.
    private struct Bytes {
        var count: Int
        var start: UnsafeMutableRawPointer?
    }

    private typealias Create = @convention(c) (UnsafeMutablePointer<OpaquePointer?>) -> CInt
    private typealias Begin = @convention(c) (OpaquePointer, OpaquePointer?, CUnsignedInt, UnsafeMutablePointer<OpaquePointer?>) -> CInt
    private typealias OpenTable =
        @convention(c) (
            OpaquePointer, UnsafePointer<CChar>?, CUnsignedInt, UnsafeMutablePointer<CUnsignedInt>
        ) -> CInt
    private typealias Get = @convention(c) (OpaquePointer, CUnsignedInt, UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> CInt
    private typealias Put =
        @convention(c) (
            OpaquePointer, CUnsignedInt, UnsafeMutableRawPointer, UnsafeMutableRawPointer, CUnsignedInt
        ) -> CInt

    static let missing: String? = library == nil ? "needs LMDB (Debian: liblmdb0)" : nil
    private static let library = SharedLibrary("liblmdb.so.0", "liblmdb.dylib")
    private static let (readOnly, withoutSynchronization): (CUnsignedInt, CUnsignedInt) = (0x20000, 0x10000)

    private let environment: OpaquePointer
    private var table: CUnsignedInt = 0
    private var reading: OpaquePointer?
    private let begin: Begin
    private let (get, put): (Get, Put)
    private let (commit, renew): (@convention(c) (OpaquePointer) -> CInt, @convention(c) (OpaquePointer) -> CInt)
    private let (abort, resetTransaction, close):
        (
            @convention(c) (OpaquePointer) -> Void, @convention(c) (OpaquePointer) -> Void, @convention(c) (OpaquePointer) -> Void
        )

    init(in folder: URL, isDurable: Bool) throws {
        guard let library = Self.library else { throw Failure("there is no LMDB") }
        let create: Create = try library.function("mdb_env_create")
        let setMapSize: @convention(c) (OpaquePointer, Int) -> CInt = try library.function("mdb_env_set_mapsize")
        let open: @convention(c) (OpaquePointer, UnsafePointer<CChar>, CUnsignedInt, mode_t) -> CInt = try library.function("mdb_env_open")
        let openTable: OpenTable = try library.function("mdb_dbi_open")
        begin = try library.function("mdb_txn_begin")
        get = try library.function("mdb_get")
        put = try library.function("mdb_put")
        commit = try library.function("mdb_txn_commit")
        renew = try library.function("mdb_txn_renew")
        abort = try library.function("mdb_txn_abort")
        resetTransaction = try library.function("mdb_txn_reset")
        close = try library.function("mdb_env_close")
        var created: OpaquePointer?
        guard create(&created) == 0, let created else { throw Failure("LMDB cannot start") }
        environment = created
        _ = setMapSize(created, 64 << 20)
        let status = open(created, folder.path, isDurable ? 0 : Self.withoutSynchronization, 0o600)
        try Failure.unless(status == 0, "LMDB cannot open a folder")
        try transaction { try Failure.unless(openTable($0, nil, 0, &table) == 0, "LMDB cannot open a table") }
        try Failure.unless(begin(created, nil, Self.readOnly, &reading) == 0, "LMDB cannot read")
        reading.map(resetTransaction)
    }

    deinit {
        reading.map(abort)
        close(environment)
    }

    func fill(_ entries: [(name: String, value: Data)]) throws {
        try transaction { transaction in
            for (name, value) in entries {
                try value.withUnsafeBytes { try put(name, UnsafeMutableRawBufferPointer(mutating: $0), in: transaction) }
            }
        }
    }

    func set(_ name: String, to value: Int) throws {
        var value = value
        try transaction { transaction in
            try withUnsafeMutableBytes(of: &value) { try put(name, $0, in: transaction) }
        }
    }

    func value(of name: String) throws -> Int {
        guard let reading, renew(reading) == 0 else { throw Failure("LMDB cannot read") }
        defer { resetTransaction(reading) }
        var name = name
        return try name.withUTF8 { text in
            var key = Bytes(count: text.count, start: UnsafeMutableRawPointer(mutating: text.baseAddress))
            var value = Bytes(count: 0, start: nil)
            let status = get(reading, table, &key, &value)
            guard status == 0, value.count == 8, let start = value.start else { throw Failure("LMDB does not have the value") }
            return start.loadUnaligned(as: Int.self)
        }
    }

    private func put(_ name: String, _ bytes: UnsafeMutableRawBufferPointer, in transaction: OpaquePointer) throws {
        var name = name
        try name.withUTF8 { text in
            var key = Bytes(count: text.count, start: UnsafeMutableRawPointer(mutating: text.baseAddress))
            var value = Bytes(count: bytes.count, start: bytes.baseAddress)
            try Failure.unless(put(transaction, table, &key, &value, 0) == 0, "LMDB cannot store a value")
        }
    }

    private func transaction(_ body: (OpaquePointer) throws -> Void) throws {
        var transaction: OpaquePointer?
        guard begin(environment, nil, 0, &transaction) == 0, let transaction else { throw Failure("LMDB cannot write") }
        do {
            try body(transaction)
        } catch {
            abort(transaction)
            throw error
        }
        try Failure.unless(commit(transaction) == 0, "LMDB cannot commit")
    }
}
