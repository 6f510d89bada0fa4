import Foundation
import TestSupport

/// The location of files: each operation has a folder of its own, all on one file system.
struct Place: Sendable {
    let base: URL

    /// Creates an empty folder, which is removed with the value returned.
    func folder() throws -> TemporaryFolder {
        try TemporaryFolder(in: base)
    }
}
