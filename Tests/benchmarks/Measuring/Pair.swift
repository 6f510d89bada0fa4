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
