import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A property list in a folder of its own, with the logs of stores whose processes are dead.
struct EditLogFixture {
    let folder: TemporaryFolder
    let file: URL
    var list: ResolvedPath { ResolvedPath("settings.plist", in: folder.url.path) }
    var logs: String { list.editLogs.path }

    init(_ entries: [String: PropertyListValue]? = nil, format: PropertyListFormat = .binary) throws {
        folder = try TemporaryFolder.inMemory()
        file = folder.file("settings.plist")
        if let entries { try PropertyListValue.dictionary(entries).encoded(as: format).write(to: file) }
    }

    /// The names in the folder of logs; none if there is no folder.
    var logNames: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: logs).sorted()) ?? []
    }

    /// The sizes of the files in the folder of logs.
    var logSizes: [Int] {
        get throws {
            try logNames.map { name in
                try #require(try FileManager.default.attributesOfItem(atPath: logs + "/" + name)[.size] as? Int)
            }
        }
    }

    /// The storage of a store of the list.
    func backend(calls: FileSystemCalls = .live) -> PropertyListFile {
        PropertyListFile(at: file, configuration: .with { ($0.lockTimeout, $0.journal) = (.seconds(500), .edits) }, calls: calls)
    }

    /// System calls with which no commit succeeds, so that edits stay pending.
    static var callsWithoutRenaming: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.renameFile = { _, _ throws(SystemError) in throw SystemError(EIO) }
        return calls
    }

    /// A storage in which edits stay pending.
    var backendWithoutRenaming: PropertyListFile {
        backend(calls: Self.callsWithoutRenaming)
    }

    /// The values in the list itself.
    func stored() throws -> [String: PropertyListValue] {
        guard let bytes = FileManager.default.contents(atPath: file.path) else { return [:] }
        guard case .dictionary(let values) = try PropertyListValue.decode(bytes).value else { return [:] }
        return values
    }

    /// Leaves a log as a process does that is killed.
    func leaveLog(_ edits: [LoggedEdit], committed: UInt64 = 0, halfSize: Int = 65_536) throws {
        try EditLogFolder(list: list, calls: .live).leaveLog(edits, committed: committed, halfSize: halfSize)
    }

    /// Makes files until a log needs none.
    func makeFiles(for log: inout EditLog) throws {
        for _ in 0..<8 {
            guard let halfSize = log.neededHalfSize() else { return }
            log.install(try EditLogFolder(list: list, calls: .live).makeLog(halfSize: halfSize))?.remove()
        }
        Issue.record("no file is large enough")
    }

    /// Edits one value until a log needs a larger file, while the first edit is committed; returns the last sequence.
    func fill(_ log: inout EditLog) throws -> UInt64 {
        var (number, old) = (UInt64(0), PropertyListValue?.none)
        repeat {
            try makeFiles(for: &log)
            number += 1
            let value = PropertyListValue.data(Data(repeating: UInt8(number), count: 1 << 19))
            log.append("k", over: old, value, sequence: number)
            old = value
            if number == 1 { log.beginCommit(of: 1) }
        } while !log.isBehind || number < 5
        return number
    }

    /// The bytes of the log in the folder, of which there is only one.
    func log() throws -> (path: String, bytes: Data) {
        guard let name = logNames.first else { throw CocoaError(.fileNoSuchFile) }
        let path = logs + "/" + name
        return (path, try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// A chain of edits of one key, each made over the one before.
    static func chain(
        _ key: String, from first: PropertyListValue?, _ values: [PropertyListValue?], path: [String] = []
    ) -> [LoggedEdit] {
        var over = first
        return values.enumerated().map { index, value in
            defer { over = value }
            return LoggedEdit(key: key, path: path, over: over.fingerprint, value: value, sequence: UInt64(index) + 1)
        }
    }
}

extension EditLogFolder {
    /// Leaves a log as a process does that is killed.
    func leaveLog(_ edits: [LoggedEdit], committed: UInt64 = 0, halfSize: Int = 65_536) throws {
        let log = try makeLog(halfSize: halfSize)
        log.publish()
        for edit in edits { precondition(log.add(edit)) }
        if committed > 0 { log.markCommitted(upTo: committed, in: nil) }
        withExtendedLifetime(log) {}
    }
}

extension EditLogFile {
    var edits: [LoggedEdit] { uncommittedEdits ?? [] }

    /// Adds one edit; returns false if there is no room.
    func add(_ edit: LoggedEdit) -> Bool {
        append([edit], sequence: edit.sequence)
    }
}
