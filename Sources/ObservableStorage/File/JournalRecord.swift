import FoundationSubset
import PropertyListCoding

/// One record of a journal.
enum JournalRecord: Sendable, Equatable {
    /// Edits that were made together.
    case commit(JournalCommit)
    /// The content of the property list at a revision, as it is in place, or about to be.
    case list(JournaledList)
    /// The list that was announced last is in place.
    case placed
}

/// Edits in a journal that were made together; the history is that of the journal.
struct JournalCommit: Sendable, Equatable {
    let revision: UInt64
    let edits: [String: StorageCommit.Edit]
    var time: Date?
    var writer: String?

    /// The values that were set, and nil for those that were removed.
    var values: [String: PropertyListValue?] { edits.mapValues(\.newValue) }
}

/// A property list as a journal knows it: with everything up to a revision.
struct JournaledList: Sendable, Equatable {
    /// What distinguishes one file from another, apart from its content; nil if there is no file.
    struct Identity: Sendable, Equatable {
        let inode: UInt64
        let size: Int64
        let modified: Int64
    }

    var identity: Identity?
    /// The checksum of its bytes, by which it is recognized in a copy of the folder.
    var checksum: UInt64
    let revision: UInt64
    let format: PropertyListFormat
    /// Values that were in the storage at that revision instead of those of the list, which another program has written.
    var overrides: [String: StorageCommit.Edit] = [:]
    /// Whether it is not known what is different since the revision before.
    var isGap = false
    /// Whether it was in place when this was recorded.
    var isPlaced = false

    /// Whether this is the same list, also if one of the two was not known to be in place.
    func isSame(as other: JournaledList?) -> Bool {
        other.map { ($0.identity, $0.checksum, $0.revision) == (identity, checksum, revision) } ?? false
    }

    func isFile(_ found: FileIdentity?) -> Bool {
        identity == found.map { Identity($0) }
    }
}

extension JournaledList.Identity {
    init(_ file: FileIdentity) {
        // Renaming changes the other times.
        (inode, size, modified) = (file.inode, file.size, file.modified)
    }
}

// MARK: - Writing

extension JournalRecord {
    /// The bytes of the record, after another one.
    ///
    /// - Parameter chain: the checksum of the record before; afterwards that of this one.
    func encoded(after chain: inout UInt64) throws(PropertyListError) -> Data {
        typealias Record = JournalFormat.Record
        let (kind, revision, body): (JournalFormat.Kind, UInt64, Data) =
            switch self {
            case .commit(let commit): (.commit, commit.revision, try commit.propertyList.encoded(as: .binary))
            case .list(let list): (.list, list.revision, try list.propertyList.encoded(as: .binary))
            case .placed: (.placed, 0, Data())
            }
        let length = (Record.body + body.count + 7) & ~7
        guard let size = UInt32(exactly: length) else {
            throw PropertyListError(offset: nil, reason: "a journal has no room for \(length) bytes at once")
        }
        var data = Data(count: length)
        let previous = chain
        chain = data.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: size, toByteOffset: Record.length, as: UInt32.self)
            bytes.storeBytes(of: kind.rawValue, toByteOffset: Record.kind, as: UInt32.self)
            bytes.storeBytes(of: revision, toByteOffset: Record.revision, as: UInt64.self)
            bytes.storeBytes(of: UInt64(body.count), toByteOffset: Record.bodyLength, as: UInt64.self)
            body.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[Record.body...]).copyMemory(from: $0) }
            let checksum = JournalFormat.checksum(UnsafeRawBufferPointer(bytes), after: previous)
            bytes.storeBytes(of: checksum, toByteOffset: Record.checksum, as: UInt64.self)
            return checksum
        }
        return data
    }
}

extension JournalCommit {
    fileprivate var propertyList: PropertyListValue {
        var root = edits.propertyList
        root["time"] = time.map { .date($0) }
        root["writer"] = writer.map { .string($0) }
        return .dictionary(root)
    }
}

extension JournaledList {
    fileprivate var propertyList: PropertyListValue {
        var root = overrides.propertyList
        root["format"] = .string(format == .xml ? "xml" : "binary")
        root["checksum"] = .integer(PropertyListInteger(checksum))
        root["gap"] = .boolean(isGap)
        root["placed"] = .boolean(isPlaced)
        if let identity {
            root["inode"] = .integer(PropertyListInteger(identity.inode))
            root["size"] = .integer(PropertyListInteger(identity.size))
            root["modified"] = .integer(PropertyListInteger(identity.modified))
        }
        return .dictionary(root)
    }
}

extension [String: StorageCommit.Edit] {
    // Not deeper than in the property list, except by one level: more would make values impossible that the list can have.
    fileprivate var propertyList: [String: PropertyListValue] {
        let removed = filter { $0.value.newValue == nil }.keys.sorted()
        var root: [String: PropertyListValue] = ["set": .dictionary(compactMapValues(\.newValue))]
        let old = compactMapValues(\.oldValue)
        if !old.isEmpty { root["old"] = .dictionary(old) }
        if !removed.isEmpty { root["removed"] = .array(removed.map { .string($0) }) }
        return root
    }

    fileprivate init(_ root: [String: PropertyListValue]) {
        let old = root["old"]?.dictionary ?? [:]
        self = [:]
        for (key, value) in root["set"]?.dictionary ?? [:] { self[key] = StorageCommit.Edit(from: old[key], to: value) }
        for key in (root["removed"]?.array ?? []).compactMap(\.string) { self[key] = StorageCommit.Edit(from: old[key], to: nil) }
    }
}

// MARK: - Reading

/// Records of a journal, from some offset to the first one that is not whole.
struct JournalRecords: Sendable {
    /// The records with their offsets.
    private(set) var records: [(offset: Int, record: JournalRecord)] = []
    /// The offset after the last record.
    private(set) var end: Int
    /// The checksum of the last record.
    private(set) var chain: UInt64
    /// Whether something else than zeros is after the last record.
    private(set) var hasRemainder = false

    /// No records yet.
    ///
    /// - Parameters:
    ///   - offset: the offset of the first record.
    ///   - chain: the checksum of the record before it.
    init(from offset: Int, after chain: UInt64) {
        (end, self.chain) = (offset, chain)
    }

    /// Adds a record, and its bytes to those of the records before.
    mutating func append(_ record: JournalRecord, to bytes: inout Data) throws(PropertyListError) {
        let encoded = try record.encoded(after: &chain)
        bytes += encoded
        records.append((end, record))
        end += encoded.count
    }

    /// Reads records.
    ///
    /// - Parameters:
    ///   - bytes: the bytes from the offset on.
    ///   - offset: the offset of the first record.
    ///   - chain: the checksum of the record before it.
    init(_ bytes: Data, from offset: Int, after chain: UInt64) {
        self.init(from: offset, after: chain)
        var rest = bytes[...]
        while let (record, checksum, length) = rest.withUnsafeBytes({ Self.first(in: $0, after: self.chain) }) {
            records.append((end, record))
            (end, self.chain) = (end + length, checksum)
            rest = rest.dropFirst(length)
        }
        hasRemainder = !rest.withUnsafeBytes(\.isZero)
    }

    private static func first(in bytes: UnsafeRawBufferPointer, after chain: UInt64) -> (JournalRecord, UInt64, Int)? {
        typealias Record = JournalFormat.Record
        guard bytes.count >= Record.body else { return nil }
        let length = Int(bytes.loadUnaligned(fromByteOffset: Record.length, as: UInt32.self))
        guard length >= Record.body, length.isMultiple(of: 8), length <= bytes.count else { return nil }
        let record = UnsafeRawBufferPointer(rebasing: bytes[..<length])
        let checksum = JournalFormat.checksum(record, after: chain)
        guard record.loadUnaligned(fromByteOffset: Record.checksum, as: UInt64.self) == checksum,
            let kind = JournalFormat.Kind(rawValue: record.loadUnaligned(fromByteOffset: Record.kind, as: UInt32.self)),
            let count = Int(exactly: record.loadUnaligned(fromByteOffset: Record.bodyLength, as: UInt64.self)),
            count <= length - Record.body
        else { return nil }
        let revision = record.loadUnaligned(fromByteOffset: Record.revision, as: UInt64.self)
        let body = Data(record[Record.body..<Record.body + count])
        guard let decoded = JournalRecord(kind, revision: revision, body) else { return nil }
        return (decoded, checksum, length)
    }
}

extension JournalRecord {
    fileprivate init?(_ kind: JournalFormat.Kind, revision: UInt64, _ body: Data) {
        if kind == .placed {
            self = .placed
            return
        }
        let root: [String: PropertyListValue]
        do throws(PropertyListError) {
            guard case .dictionary(let entries) = try PropertyListValue.decode(body).value else { return nil }
            root = entries
        } catch {
            return nil
        }
        if kind == .list {
            self = .list(JournaledList(root, revision: revision))
            return
        }
        let edits = [String: StorageCommit.Edit](root)
        self = .commit(JournalCommit(revision: revision, edits: edits, time: root["time"]?.date, writer: root["writer"]?.string))
    }
}

extension JournaledList {
    fileprivate init(_ root: [String: PropertyListValue], revision: UInt64) {
        func number<Number: FixedWidthInteger>(_ name: String) -> Number? {
            guard case .integer(let number)? = root[name] else { return nil }
            return number.value()
        }
        self.revision = revision
        checksum = number("checksum") ?? 0
        format = root["format"] == "xml" ? .xml : .binary
        if let inode: UInt64 = number("inode"), let size: Int64 = number("size"), let modified: Int64 = number("modified") {
            identity = Identity(inode: inode, size: size, modified: modified)
        }
        overrides = [String: StorageCommit.Edit](root)
        (isGap, isPlaced) = (root["gap"] == true, root["placed"] == true)
    }
}
