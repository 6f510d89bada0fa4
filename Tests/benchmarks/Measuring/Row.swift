import Foundation
import TestSupport

/// A row of the table: an operation and its maximum cost.
struct Row: Sendable {
    /// The name that selects it: dotted, the family first.
    let name: String
    /// The operation of the library.
    let work: String
    /// The baseline.
    let bare: String
    /// The maximum ratio; nil for a row without a goal.
    let goal: Double?
    /// The number of equal parts of the work; the times are for one part.
    let parts: Int
    /// What has to be installed before it can be measured; nil if nothing is missing.
    let missing: String?
    let prepare: @Sendable (Place) async throws -> Pair

    init(
        _ name: String, _ work: String, against bare: String, goal: Double? = nil, parts: Int = 1,
        missing: String? = nil, prepare: @escaping @Sendable (Place) async throws -> Pair
    ) {
        self.name = name
        self.work = work
        self.bare = bare
        self.goal = goal
        self.parts = parts
        self.missing = missing
        self.prepare = prepare
    }
}

/// The two sides of a row: the library's operation, and the same work without the library.
struct Pair {
    let subject: Work
    let baseline: Work
    /// Releases what was prepared for them.
    let tearDown: () async throws -> Void

    init(subject: Work, baseline: Work, tearDown: @escaping () async throws -> Void = {}) {
        self.subject = subject
        self.baseline = baseline
        self.tearDown = tearDown
    }
}

/// The location of files: each operation has a folder of its own, all on one file system.
struct Place: Sendable {
    let base: URL

    /// Creates an empty folder, which is removed with the value returned.
    func folder() throws -> TemporaryFolder {
        try TemporaryFolder(in: base)
    }
}
