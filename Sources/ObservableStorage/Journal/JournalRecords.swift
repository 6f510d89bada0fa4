import FoundationSubset
import PropertyListCoding

/// Records of a journal, from some offset to the first incomplete one.
struct JournalRecords: Sendable {
    /// The records with their offsets.
    private(set) var records: [(offset: Int, record: JournalRecord)] = []
    /// The offset after the last record.
    private(set) var end: Int
    /// The checksum of the last record.
    private(set) var chain: UInt64
    /// Whether there is anything but zeros after the last record.
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

    /// The records in the bytes from the offset on.
    ///
    /// - Parameter skipsStored: whether commits that a list in place has are only checked.
    init(_ bytes: Data, from offset: Int, after chain: UInt64, skippingStored skipsStored: Bool = false) {
        self.init(from: offset, after: chain)
        bytes.withUnsafeBytes { bytes in
            var rest = bytes
            var (found, announced, stored) = ([(offset: Int, record: Found)](), 0 as UInt64, 0 as UInt64)
            while let (record, checksum, length) = Self.first(in: rest, after: self.chain) {
                found.append((end, record))
                (end, self.chain) = (end + length, checksum)
                rest = UnsafeRawBufferPointer(rebasing: rest[length...])
                switch record {
                case .commit: break
                case .other(.list(let list)):
                    announced = list.revision
                    if list.isPlaced { stored = announced }
                case .other: stored = announced
                }
            }
            hasRemainder = !rest.isZero
            // Built after all are checked: most commits of a journal are in its list, and building them takes longer (`open.journal`).
            for case (let offset, let record) in found {
                switch record {
                case .commit(let revision, _) where skipsStored && revision <= stored: break
                case .commit(let revision, let body): records.append((offset, .commit(JournalCommit(revision: revision, body))))
                case .other(let record): records.append((offset, record))
                }
            }
        }
    }

    /// A valid record whose commit is not built yet.
    private enum Found {
        case commit(revision: UInt64, body: UnsafeRawBufferPointer)
        case other(JournalRecord)
    }

    private static func first(in bytes: UnsafeRawBufferPointer, after chain: UInt64) -> (Found, UInt64, Int)? {
        typealias Record = JournalFormat.Record
        guard bytes.count >= Record.body else { return nil }
        let length = Int(clamping: bytes.loadUnaligned(fromByteOffset: Record.length, as: UInt32.self))
        guard length >= Record.body, length.isMultiple(of: 8), length <= bytes.count else { return nil }
        let record = UnsafeRawBufferPointer(rebasing: bytes[..<length])
        let checksum = JournalFormat.checksum(record, after: chain)
        guard record.loadUnaligned(fromByteOffset: Record.checksum, as: UInt64.self) == checksum,
            let kind = JournalFormat.Kind(rawValue: record.loadUnaligned(fromByteOffset: Record.kind, as: UInt32.self)),
            let count = Int(exactly: record.loadUnaligned(fromByteOffset: Record.bodyLength, as: UInt64.self)),
            count <= length - Record.body
        else { return nil }
        let revision = record.loadUnaligned(fromByteOffset: Record.revision, as: UInt64.self)
        let body = UnsafeRawBufferPointer(rebasing: record[Record.body..<Record.body + count])
        switch kind {
        case .commit: return JournalCommit.isValid(body) ? (.commit(revision: revision, body: body), checksum, length) : nil
        case .list: return JournaledList(body, revision: revision).map { (.other(.list($0)), checksum, length) }
        case .placed: return (.other(.placed), checksum, length)
        }
    }
}
