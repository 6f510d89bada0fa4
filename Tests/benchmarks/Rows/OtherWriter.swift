import Foundation
import PropertyListCoding
import TestSupport

/// Replaces a property list as another process would: with system calls that bypass the library.
///
/// The library and the baseline are notified by the kernel, which does not report who made the change: a separate process would
/// make the same calls, and only add its scheduling to both sides.
struct OtherWriter {
    private let folder: TemporaryFolder
    private var entries: [String: PropertyListValue]
    private let file: String
    private let temporary: String
    private(set) var value = 0

    init(_ folder: TemporaryFolder, entries: [String: PropertyListValue]) {
        self.folder = folder
        self.entries = entries
        file = folder.path("settings.plist")
        temporary = folder.path("written elsewhere")
    }

    /// Writes the next value into a temporary file.
    mutating func prepare() throws {
        value += 1
        entries["launchCount"] = .integer(PropertyListInteger(Int64(value)))
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: .binary)
        try bytes.write(to: URL(fileURLWithPath: temporary))
    }

    /// Renames the file over the property list.
    func replace() throws {
        try Failure.unless(rename(temporary, file) == 0, "\(temporary) cannot be renamed")
    }
}
