import Foundation
import ObservableStorage
import PropertyListCoding

/// The property list that a command works on.
///
/// Commands that run to their end need no store, and so nothing that watches: they use the file's backend itself.
struct PreferencesFile {
    let backend: PropertyListFile

    /// The file that the operand FILE means: a path if it has a `/` or ends in `.plist`, or else the name of a domain, whose file is the one
    /// of `ObservableStore(suiteName:)`.
    init(_ operand: String) {
        let isPath = operand.utf8.contains(UInt8(ascii: "/")) || operand.hasSuffix(".plist")
        backend = isPath ? PropertyListFile(path: operand) : PropertyListFile(suiteName: operand)
    }

    /// The file as errors name it.
    var path: String {
        backend.name
    }

    /// The entries of a file that must be there: a misspelt name is not an empty file.
    func entries() throws -> [String: PropertyListValue] {
        let entries = try backend.load().values
        if entries.isEmpty, !FileManager.default.fileExists(atPath: path) { throw Failure.impossible("\(path): no such file") }
        return entries
    }

    /// Edits the entries while nobody else can, and returns when they are on disk; a missing file is made.
    func edit(_ body: (inout StorageEntries) throws -> Void) throws {
        _ = try backend.edit(body)
    }
}
