/// What is compared: the library's work, and what the same work costs without it.
struct Pair {
    let subject: Work
    let baseline: Work
    /// Ends what was prepared for them.
    let tearDown: () async throws -> Void

    init(subject: Work, baseline: Work, tearDown: @escaping () async throws -> Void = {}) {
        self.subject = subject
        self.baseline = baseline
        self.tearDown = tearDown
    }
}
