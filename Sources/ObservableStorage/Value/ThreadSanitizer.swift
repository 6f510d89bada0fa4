#if os(Linux)
    import Foundation

    /// The part of the thread sanitizer's interface that tells it about a lock.
    struct ThreadSanitizer: Sendable {
        typealias Note = @convention(c) (_ lock: UnsafeMutableRawPointer) -> Void

        /// Says that what was done before the lock was last released has been done before now.
        let acquired: Note
        /// Says that what has been done before now will have been done when the lock is acquired next.
        let releases: Note

        /// The sanitizer that the process runs under, if it does.
        static let current = ThreadSanitizer()

        private init?() {
            guard let acquired = dlsym(nil, "__tsan_acquire"), let releases = dlsym(nil, "__tsan_release") else { return nil }
            self.acquired = unsafeBitCast(acquired, to: Note.self)
            self.releases = unsafeBitCast(releases, to: Note.self)
        }
    }
#else
    /// Elsewhere the thread sanitizer knows every lock there is.
    struct ThreadSanitizer: Sendable {
        static var current: ThreadSanitizer? { nil }

        func acquired(_ lock: UnsafeMutableRawPointer) {}
        func releases(_ lock: UnsafeMutableRawPointer) {}
    }
#endif
