/// The work measured at one point of a curve.
struct CurveWork {
    let work: Work
    let tearDown: () async throws -> Void

    init(_ work: Work, tearDown: @escaping () async throws -> Void = {}) {
        self.work = work
        self.tearDown = tearDown
    }
}
