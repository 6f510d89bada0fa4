import Foundation

@testable import ObservableStorage

/// A file system's clock that stands still until it is set, and calls that take timestamps from it.
final class FileClock: Sendable {
    private struct State {
        var now: Int64 = 0
        var written: Int64 = 0
        var modified: Int64?
        var whenRead: (@Sendable () -> Void)?
        var whenRenamed: (@Sendable () -> Void)?
        var reads = 0
    }

    private let state = Lock(State())

    /// Sets the clock, in nanoseconds since 1970.
    func set(_ time: Int64) {
        state.withLock { $0.now = time }
    }

    /// Runs a closure once, after the next read of a file.
    func whenRead(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenRead = action }
    }

    /// Runs a closure once, after the next rename.
    func whenRenamed(_ action: @escaping @Sendable () -> Void) {
        state.withLock { $0.whenRenamed = action }
    }

    /// Sets the timestamp of files written from now on.
    func wrote(at time: Int64) {
        state.withLock { $0.written = time }
    }

    /// Sets the modification time that files report from now on, as copying a file with its attributes does.
    func pretendModified(at time: Int64) {
        state.withLock { $0.modified = time }
    }

    /// The number of reads.
    var reads: Int {
        state.withLock { $0.reads }
    }

    var calls: FileSystemCalls {
        let live = FileSystemCalls.live
        var calls = live
        calls.now = { Date(timeIntervalSince1970: Double(self.state.withLock { $0.now }) / 1e9) }
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            let count = try live.readBytes(descriptor, buffer)
            let action = self.state.withLock { state in
                state.reads += 1
                return state.whenRead.take()
            }
            action?()
            return count
        }
        calls.renameFile = { from, to throws(SystemError) in
            try live.renameFile(from, to)
            self.state.withLock { $0.whenRenamed.take() }?()
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw SystemError(errno) }
            return self.stamped(status)
        }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            var status = stat()
            guard (followsLinks ? stat(path.path, &status) : lstat(path.path, &status)) == 0 else { throw SystemError(errno) }
            return self.stamped(status)
        }
        return calls
    }

    private func stamped(_ status: stat) -> FileStatus {
        let (changed, modified) = state.withLock { (time($0.written), time($0.modified ?? $0.written)) }
        var status = status
        #if canImport(Darwin)
            (status.st_mtimespec, status.st_ctimespec) = (modified, changed)
        #else
            (status.st_mtim, status.st_ctim) = (modified, changed)
        #endif
        return FileStatus(status)
    }

    private func time(_ nanoseconds: Int64) -> timespec {
        timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
    }
}
