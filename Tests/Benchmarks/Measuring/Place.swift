import Foundation
import TestSupport

/// Where files are made: each piece of work has a folder of its own, all on one file system.
struct Place: Sendable {
    let base: URL

    /// Makes an empty folder, which goes with the value returned.
    func folder() throws -> TemporaryFolder {
        try TemporaryFolder(in: base)
    }
}
