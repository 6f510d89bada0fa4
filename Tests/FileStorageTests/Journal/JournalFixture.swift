import Foundation
import PropertyListCoding
import TestSupport

@testable import ObservableStorage

/// A property list with a journal, in a folder of its own.
struct JournalFixture {
    let folder: TemporaryFolder
    let file: URL
    var list: ResolvedPath { ResolvedPath("settings.plist", in: folder.url.path) }
    var journal: URL { URL(fileURLWithPath: list.journal.path) }

    init(_ entries: [String: PropertyListValue]? = nil, format: PropertyListFormat = .binary) throws {
        folder = try TemporaryFolder.inMemory()
        file = folder.file("settings.plist")
        if let entries { try write(entries, format: format) }
    }

    /// Another process with the list.
    func backend(
        _ journal: JournalMode = .full(), onDeletion: DeletionPolicy = .removeAll, calls: FileSystemCalls = .live
    ) -> PropertyListFile {
        PropertyListFile(
            at: file,
            configuration: .with { ($0.lockTimeout, $0.onDeletion, $0.journal) = (.seconds(500), onDeletion, journal) }, calls: calls)
    }

    /// The values in the list itself, as every program reads them.
    func stored(in folder: URL? = nil) throws -> [String: PropertyListValue] {
        let file = folder?.appendingPathComponent("settings.plist") ?? file
        guard let bytes = FileManager.default.contents(atPath: file.path) else { return [:] }
        guard case .dictionary(let values) = try PropertyListValue.decode(bytes).value else { return [:] }
        return values
    }

    /// Puts a list in place as programs do that know of no lock and no journal.
    func write(_ entries: [String: PropertyListValue], format: PropertyListFormat = .binary, inPlace: Bool = false) throws {
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: format)
        guard inPlace else { return try bytes.write(to: file, options: .atomic) }
        let handle = try FileHandle(forWritingTo: file)
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    /// The offset after the last record of the journal.
    func journalEnd() throws -> Int {
        try JournalFile.open(of: list, calls: .live)?.records().end ?? 0
    }

    /// Writes into the journal, as a program or a disk does that destroys it.
    func damage(at offset: Int, _ bytes: Data) throws {
        let handle = try FileHandle(forWritingTo: journal)
        try handle.seek(toOffset: UInt64(offset))
        try handle.write(contentsOf: bytes)
        try handle.close()
    }

    /// The records of the journal.
    func records() throws -> [JournalRecord] {
        try JournalFile.open(of: list, calls: .live)?.records().records.map(\.record) ?? []
    }
}

extension PropertyListFile {
    /// Sets values in one commit.
    @discardableResult
    func set(_ values: [String: PropertyListValue?]) throws -> StorageEntries {
        try edit { entries in
            for (key, value) in values { entries[key] = value }
        }
    }

    /// What it would report to a store.
    var told: [StorageError] {
        list.reports.kept.withLock { $0 }
    }
}
