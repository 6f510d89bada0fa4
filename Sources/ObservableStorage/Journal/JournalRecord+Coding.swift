import FoundationSubset
import PropertyListCoding

extension JournalRecord {
    /// The encoded record.
    ///
    /// - Parameter chain: the checksum of the record before; afterwards that of this one.
    func encoded(after chain: inout UInt64) throws(PropertyListError) -> Data {
        typealias Record = JournalFormat.Record
        var data = Data(count: Record.body)
        let (kind, revision): (JournalFormat.Kind, UInt64)
        switch self {
        case .commit(let commit):
            (kind, revision) = (.commit, commit.revision)
            try commit.write(to: &data)
        case .list(let list):
            (kind, revision) = (.list, list.revision)
            try list.write(to: &data)
        case .placed: (kind, revision) = (.placed, 0)
        }
        let bodySize = data.count - Record.body
        data += Data(count: -bodySize & 7)
        guard let size = UInt32(exactly: data.count) else {
            throw PropertyListError(offset: nil, reason: "a journal cannot store \(data.count) bytes at once")
        }
        let previous = chain
        chain = data.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: size, toByteOffset: Record.length, as: UInt32.self)
            bytes.storeBytes(of: kind.rawValue, toByteOffset: Record.kind, as: UInt32.self)
            bytes.storeBytes(of: revision, toByteOffset: Record.revision, as: UInt64.self)
            bytes.storeBytes(of: UInt64(bodySize), toByteOffset: Record.bodyLength, as: UInt64.self)
            let checksum = JournalFormat.checksum(UnsafeRawBufferPointer(bytes), after: previous)
            bytes.storeBytes(of: checksum, toByteOffset: Record.checksum, as: UInt64.self)
            return checksum
        }
        return data
    }
}

extension Data {
    /// Adds what a closure writes.
    ///
    /// - Parameter size: the number of bytes, exactly.
    mutating func append(_ size: Int, _ write: (inout LogWriter) -> Void) {
        withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { buffer in
            guard let start = buffer.baseAddress else { return }
            var writer = LogWriter(at: start)
            write(&writer)
            append(contentsOf: buffer)
        }
    }

    /// Adds the edits at the end of a record's body.
    mutating func append(_ edits: [String: StorageCommit.Edit]) throws(PropertyListError) {
        append(4) { $0.put(UInt32(truncatingIfNeeded: edits.count)) }
        for (key, edit) in edits {
            append(key.loggedSize) { $0.put(key) }
            try append(edit.oldValue)
            try append(edit.newValue)
        }
        let paths = edits.mapValues(\.paths).filter { $0.value.allSatisfy { $0.count <= LogWriter.depth } && !$0.value.isEmpty }
        if paths.isEmpty { return }
        append(4) { $0.put(UInt32(truncatingIfNeeded: paths.count)) }
        for (key, paths) in paths {
            append(key.loggedSize + 4 + paths.reduce(0) { $0 + 4 + $1.reduce(0) { $0 + $1.loggedSize } }) { writer in
                writer.put(key)
                writer.put(UInt32(truncatingIfNeeded: paths.count))
                for path in paths { writer.put(path) }
            }
        }
    }

    private mutating func append(_ value: PropertyListValue?) throws(PropertyListError) {
        guard let value else { return append(1) { $0.put(LogTag.none) } }
        if let size = value.loggedSize() { return append(1 + size) { $0.put(value) } }
        // It is nested too deep to be read otherwise.
        let bytes = try PropertyListValue.array([value]).encoded(as: .binary)
        append(1 + 4 + bytes.count) { writer in
            writer.put(LogTag.propertyList)
            bytes.withUnsafeBytes { writer.put($0) }
        }
    }
}

extension JournaledList {
    private static let hasFile: UInt32 = 1
    private static let isXML: UInt32 = 2
    private static let followsGap: UInt32 = 4
    private static let isInPlace: UInt32 = 8
    private static let isJSON: UInt32 = 16

    fileprivate func write(to data: inout Data) throws(PropertyListError) {
        let flags = [
            (Self.hasFile, identity != nil), (Self.isXML, format == .xml), (Self.isJSON, format == .json), (Self.followsGap, isGap),
            (Self.isInPlace, isPlaced),
        ]
        data.append(4 * 8 + 4) { log in
            log.put(identity?.inode ?? 0)
            log.put(identity?.size ?? 0)
            log.put(identity?.modified ?? 0)
            log.put(checksum)
            log.put(flags.reduce(UInt32(0)) { $1.1 ? $0 | $1.0 : $0 })
        }
        try data.append(overrides)
    }

    /// Creates a list from the body of a record; nil if that is not valid.
    init?(_ body: UnsafeRawBufferPointer, revision: UInt64) {
        var reader = LogReader(body)
        guard let inode = reader.number(UInt64.self), let size = reader.number(Int64.self), let modified = reader.number(Int64.self),
            let checksum = reader.number(UInt64.self), let flags = reader.number(UInt32.self), let overrides = reader.edits()
        else { return nil }
        let file = FileIdentity(device: 0, inode: inode, size: size, modified: modified, changed: 0)
        self.init(
            identity: flags & Self.hasFile != 0 ? file : nil, checksum: checksum, revision: revision,
            format: flags & Self.isJSON != 0 ? .json : flags & Self.isXML != 0 ? .xml : .binary, overrides: overrides,
            isGap: flags & Self.followsGap != 0, isPlaced: flags & Self.isInPlace != 0)
    }
}

extension LogReader {
    /// The edits at the end of a body; nil if they are incomplete.
    mutating func edits() -> [String: StorageCommit.Edit]? {
        var edits: [String: StorageCommit.Edit] = [:]
        guard let paths = readEdits({ edits[$0] = StorageCommit.Edit(from: $1, to: $2) }) else { return nil }
        for (key, paths) in paths {
            if let edit = edits[key] { edits[key] = StorageCommit.Edit(from: edit.oldValue, to: edit.newValue, at: paths) }
        }
        return edits
    }

    /// Reads the edits at the end of a body.
    ///
    /// - Parameter body: receives the key of each, the value before and the one that was set.
    /// - Returns: the paths of values that were edited inside an entry, by its key; nil if the edits are incomplete.
    mutating func readEdits(_ body: (String, PropertyListValue?, PropertyListValue?) -> Void) -> [String: Set<[String]>]? {
        guard let count = number(UInt32.self) else { return nil }
        for _ in 0..<count {
            guard let key = text(), let old = value(), let new = value() else { return nil }
            body(key, old, new)
        }
        var paths: [String: Set<[String]>] = [:]
        for _ in 0..<(number(UInt32.self) ?? 0) {
            guard let key = text(), let count = number(UInt32.self) else { return nil }
            for _ in 0..<count {
                guard let path = path() else { return nil }
                paths[key, default: []].insert(path)
            }
        }
        return paths
    }
}
