import Foundation
import ObservableStorage
import PropertyListCoding

/// The property list that the operand FILE names.
///
/// Commands that read or edit once use the file's backend directly: they need neither a store nor a file watcher.
struct FileOperand {
    let backend: PropertyListFile

    /// Interprets an operand: a path if it contains a `/` or ends in `.plist`, and otherwise the name of a domain, whose file is the one that
    /// `ObservableStore(suiteName:)` uses.
    init(_ operand: String) {
        let isPath = operand.utf8.contains(UInt8(ascii: "/")) || operand.hasSuffix(".plist")
        backend = isPath ? PropertyListFile(path: operand) : PropertyListFile(suiteName: operand)
    }

    /// The path, as errors show it.
    var path: String {
        backend.name
    }

    /// Reads the entries of an existing file: a missing file is an error, because its name may be misspelt.
    func entries() throws -> [String: PropertyListValue] {
        let entries = try backend.load().values
        if entries.isEmpty, !FileManager.default.fileExists(atPath: path) { throw CommandError.failed("\(path): no such file") }
        return entries
    }

    /// Edits the entries under the file's lock, and returns when they are on disk; a missing file is created.
    func edit(_ body: (inout StorageEntries) throws -> Void) throws {
        _ = try backend.edit(body)
    }
}
