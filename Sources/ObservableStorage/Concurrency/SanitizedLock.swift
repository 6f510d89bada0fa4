#if os(Linux)
    import Foundation

    /// The part of the thread sanitizer's interface that tells it about locks.
    private struct ThreadSanitizer: Sendable {
        typealias Note = @convention(c) (_ lock: UnsafeMutableRawPointer) -> Void

        let acquired: Note
        let releases: Note

        /// The sanitizer that the process runs under, if it does.
        static let current = ThreadSanitizer()

        private init?() {
            guard let acquired = dlsym(nil, "__tsan_acquire"), let releases = dlsym(nil, "__tsan_release") else { return nil }
            self.acquired = unsafeBitCast(acquired, to: Note.self)
            self.releases = unsafeBitCast(releases, to: Note.self)
        }
    }

    /// A lock as the thread sanitizer is told of it; there is none in a process that does not run under it.
    final class SanitizedLock: Sendable {
        private let sanitizer: ThreadSanitizer

        init?() {
            guard let sanitizer = ThreadSanitizer.current else { return nil }
            self.sanitizer = sanitizer
        }

        /// Says that what was done before the lock was last released has been done before now.
        func acquired() {
            sanitizer.acquired(Unmanaged.passUnretained(self).toOpaque())
        }

        /// Says that what has been done before now will have been done when the lock is acquired next.
        func releases() {
            sanitizer.releases(Unmanaged.passUnretained(self).toOpaque())
        }
    }
#else
    /// Elsewhere the thread sanitizer knows every lock there is.
    final class SanitizedLock: Sendable {
        init?() { return nil }
        func acquired() {}
        func releases() {}
    }
#endif
