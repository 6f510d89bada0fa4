import FoundationSubset
import PropertyListCoding

extension JournalRecord {
    /// The encoded record.
    ///
    /// - Parameter chain: the checksum of the record before; afterwards that of this one.
    func encoded(after chain: inout UInt64) throws(PropertyListError) -> Data {
        typealias Record = JournalFormat.Record
        let (kind, revision, body): (JournalFormat.Kind, UInt64, JournalBody?) =
            switch self {
            case .commit(let commit): (.commit, commit.revision, try JournalBody(commit.edits, besides: commit.size))
            case .list(let list): (.list, list.revision, try JournalBody(list.overrides, besides: JournaledList.size))
            case .placed: (.placed, 0, nil)
            }
        let bodySize = body?.size ?? 0
        let length = (Record.body + bodySize + 7) & ~7
        guard let size = UInt32(exactly: length) else {
            throw PropertyListError(offset: nil, reason: "a journal cannot store \(length) bytes at once")
        }
        var data = Data(count: length)
        let previous = chain
        chain = data.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: size, toByteOffset: Record.length, as: UInt32.self)
            bytes.storeBytes(of: kind.rawValue, toByteOffset: Record.kind, as: UInt32.self)
            bytes.storeBytes(of: revision, toByteOffset: Record.revision, as: UInt64.self)
            bytes.storeBytes(of: UInt64(bodySize), toByteOffset: Record.bodyLength, as: UInt64.self)
            if let body, let start = bytes.baseAddress {
                var writer = LogWriter(at: start + Record.body)
                switch self {
                case .commit(let commit): commit.write(to: &writer)
                case .list(let list): list.write(to: &writer)
                case .placed: break
                }
                body.write(to: &writer)
            }
            let checksum = JournalFormat.checksum(UnsafeRawBufferPointer(bytes), after: previous)
            bytes.storeBytes(of: checksum, toByteOffset: Record.checksum, as: UInt64.self)
            return checksum
        }
        return data
    }
}

extension JournalRecord {
    /// - Returns: nil if the body is not that of a record of the kind.
    init?(_ kind: JournalFormat.Kind, revision: UInt64, _ body: UnsafeRawBufferPointer) {
        var reader = LogReader(body)
        switch kind {
        case .placed: self = .placed
        case .list:
            guard let list = JournaledList(&reader, revision: revision) else { return nil }
            self = .list(list)
        case .commit:
            guard let commit = JournalCommit(&reader, revision: revision) else { return nil }
            self = .commit(commit)
        }
    }
}

/// The edits at the end of a record's body.
private struct JournalBody {
    private enum Value {
        case plain(PropertyListValue?)
        /// The bytes of a binary property list, for a value that is nested too deep to be read otherwise.
        case propertyList(Data)
    }

    private var edits: [(key: String, old: Value, new: Value)] = []
    // The paths of the edited values, for entries that are edited in part.
    private let paths: [(key: String, paths: Set<[String]>)]
    /// The size of the body, with what comes before the edits.
    private(set) var size: Int

    init(_ edits: [String: StorageCommit.Edit], besides others: Int) throws(PropertyListError) {
        size = others + 4
        paths = edits.compactMap { key, edit in
            edit.paths.isEmpty || edit.paths.contains { $0.count > LogWriter.depth } ? nil : (key, edit.paths)
        }
        if !paths.isEmpty { size += 4 }
        for (key, paths) in paths { size += key.loggedSize + 4 + paths.reduce(0) { $0 + 4 + $1.reduce(0) { $0 + $1.loggedSize } } }
        for (key, edit) in edits {
            size += key.loggedSize
            self.edits.append((key, try value(edit.oldValue), try value(edit.newValue)))
        }
    }

    private mutating func value(_ value: PropertyListValue?) throws(PropertyListError) -> Value {
        size += 1
        guard let value else { return .plain(nil) }
        if let count = value.loggedSize() {
            size += count
            return .plain(value)
        }
        let bytes = try PropertyListValue.array([value]).encoded(as: .binary)
        size += 4 + bytes.count
        return .propertyList(bytes)
    }

    func write(to writer: inout LogWriter) {
        writer.put(UInt32(truncatingIfNeeded: edits.count))
        for (key, old, new) in edits {
            writer.put(key)
            for value in [old, new] {
                switch value {
                case .plain(let value): writer.put(value)
                case .propertyList(let bytes):
                    writer.put(LogTag.propertyList)
                    bytes.withUnsafeBytes { writer.put($0) }
                }
            }
        }
        if paths.isEmpty { return }
        writer.put(UInt32(truncatingIfNeeded: paths.count))
        for (key, paths) in paths {
            writer.put(key)
            writer.put(UInt32(truncatingIfNeeded: paths.count))
            for path in paths { writer.put(path) }
        }
    }
}

extension JournalCommit {
    /// The size of what comes before the edits.
    fileprivate var size: Int { 8 + (writer ?? "").loggedSize }

    fileprivate func write(to log: inout LogWriter) {
        log.put((time?.timeIntervalSinceReferenceDate ?? .nan).bitPattern)
        log.put(writer ?? "")
    }

    fileprivate init?(_ reader: inout LogReader, revision: UInt64) {
        guard let time = reader.number(UInt64.self).map(Double.init(bitPattern:)), let writer = reader.text(), let edits = reader.edits()
        else { return nil }
        self.init(
            revision: revision, edits: edits, time: time.isNaN ? nil : Date(timeIntervalSinceReferenceDate: time),
            writer: writer.isEmpty ? nil : writer)
    }
}

extension JournaledList {
    private static let hasFile: UInt32 = 1
    private static let isXML: UInt32 = 2
    private static let followsGap: UInt32 = 4
    private static let isInPlace: UInt32 = 8
    private static let isJSON: UInt32 = 16
    /// The size of what comes before the edits.
    fileprivate static let size = 4 * 8 + 4

    fileprivate func write(to log: inout LogWriter) {
        log.put(identity?.inode ?? 0)
        log.put(identity?.size ?? 0)
        log.put(identity?.modified ?? 0)
        log.put(checksum)
        let flags = [
            (Self.hasFile, identity != nil), (Self.isXML, format == .xml), (Self.isJSON, format == .json), (Self.followsGap, isGap),
            (Self.isInPlace, isPlaced),
        ]
        log.put(flags.reduce(UInt32(0)) { $1.1 ? $0 | $1.0 : $0 })
    }

    fileprivate init?(_ reader: inout LogReader, revision: UInt64) {
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
    fileprivate mutating func edits() -> [String: StorageCommit.Edit]? {
        guard let count = number(UInt32.self) else { return nil }
        var edits: [String: StorageCommit.Edit] = [:]
        for _ in 0..<count {
            guard let key = text(), let old = value(), let new = value() else { return nil }
            edits[key] = StorageCommit.Edit(from: old, to: new)
        }
        for _ in 0..<(number(UInt32.self) ?? 0) {
            guard let key = text(), let paths = paths(), let edit = edits[key] else { return nil }
            edits[key] = StorageCommit.Edit(from: edit.oldValue, to: edit.newValue, at: paths)
        }
        return edits
    }

    private mutating func paths() -> Set<[String]>? {
        guard let count = number(UInt32.self) else { return nil }
        var paths: Set<[String]> = []
        for _ in 0..<count {
            guard let path = path() else { return nil }
            paths.insert(path)
        }
        return paths
    }
}
