import Dispatch
import FoundationSubset

extension ActivatedSource {
    /// A timer that compares the identity of a file.
    ///
    /// - Parameters:
    ///   - path: the file; links are followed.
    ///   - cause: the file or folder that prevents the file from being watched, if there is one.
    ///   - queue: the queue on which the files are compared.
    ///   - interval: the interval of the comparisons.
    ///   - changed: called on the queue if either may have changed, with whether the file may have.
    static func polling(
        _ path: String, cause: String? = nil, queue: DispatchQueue, interval: Duration, calls: FileSystemCalls = .live,
        changed: @escaping @Sendable (_ isFile: Bool) -> Void
    ) -> ActivatedSource {
        let observe: @Sendable (String) -> PollComparison.FileState = { path in
            Result { () throws(SystemError) in try calls.status(at: ResolvedPath(splitting: path), followsLinks: true)?.identity }
        }
        let known = Lock((file: PollComparison(observe(path)), cause: cause.map(observe)))
        let timer = DispatchSource.makeTimerSource(queue: queue)
        let leeway = DispatchTimeInterval.microseconds(Int(clamping: interval.wholeNanoseconds / 10_000))
        timer.schedule(deadline: .after(interval), repeating: interval.seconds, leeway: leeway)
        return ActivatedSource(timer) { _ in
            let time = calls.now()
            let file = observe(path)
            let causeState = cause.map(observe)
            let (isFileChanged, isCauseChanged) = known.withLock { known in
                defer { known.cause = causeState }
                return (known.file.isChanged(file, at: time), known.cause != causeState)
            }
            if isFileChanged || isCauseChanged { changed(isFileChanged) }
        }
    }
}

/// Compares the observations of a timer with the previous ones.
struct PollComparison: Sendable {
    /// The identity of the file, nil if it is missing, or the error: a file whose status is unavailable is not missing.
    typealias FileState = Result<FileIdentity?, SystemError>

    private var last: FileState
    // A write of the same length within one tick of the file system's clock is undetectable, so a file that is new, or existed at the
    // start, is reported once more, and until such a write would be detectable.
    private var repeats = true

    init(_ observation: FileState) {
        last = observation
    }

    /// Whether the file may have changed, according to an observation made after a time.
    mutating func isChanged(_ observation: FileState, at time: Date) -> Bool {
        let isDifferent = observation != last
        defer {
            last = observation
            if case .success(let identity?) = observation, identity.mayHideWrites(after: time) {
                repeats = true
            } else {
                repeats = isDifferent
            }
        }
        return isDifferent || repeats
    }
}
