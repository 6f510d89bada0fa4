import Foundation

/// Which file it is, in which state: while two identities are equal, the file has not changed.
///
/// A file system's clock ticks every few milliseconds, or seconds, so a file changed in place twice within a tick, to the same size,
/// keeps its identity. A file replaced by a rename does not.
struct FileIdentity: Sendable, Hashable {
    let device: UInt64
    let inode: UInt64
    /// In bytes.
    let size: Int64
    /// When the content was changed, in nanoseconds since 1970.
    let modified: Int64
    /// When the content, the name, the mode or the owner was changed, in nanoseconds since 1970.
    let changed: Int64

    /// Whether both are the same inode, in whatever state.
    func isSameFile(as other: FileIdentity) -> Bool {
        (device, inode) == (other.device, other.inode)
    }

    /// Whether both are the same inode with the same content; a rename alone makes no difference.
    func hasSameContent(as other: FileIdentity) -> Bool {
        isSameFile(as: other) && (size, modified) == (other.size, other.modified)
    }

    /// Whether a write after that time may leave the identity as it is.
    func mayHideWrites(after time: Date) -> Bool {
        // The slowest clocks tick every other second. Time stamps may also be taken some time before the bytes are there, and from the clock of
        // another machine; for what is modified, writers may set any they like.
        time.timeIntervalSince1970 - Double(max(modified, changed)) / 1e9 < 2.05
    }

    /// How long before that the file was modified, in seconds; a time in the future counts as just then.
    func age(at time: Date) -> TimeInterval {
        max(0, time.timeIntervalSince1970 - Double(modified) / 1e9)
    }
}

extension FileIdentity {
    /// The identity of an open file.
    init(descriptor: Int32, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            self = try calls.status(of: descriptor).identity
        } catch {
            throw .unreadable(file: "descriptor \(descriptor)", reason: error.reason)
        }
    }

    /// The identity of what the path leads to, symbolic links followed; nothing if it leads nowhere.
    init?(path: String, calls: FileSystemCalls = .live) throws(StorageError) {
        do throws(SystemError) {
            self = try calls.uninterrupted { () throws(SystemError) in try calls.statusOfPath(path, true) }.identity
        } catch let error where error.isMissing {
            return nil
        } catch {
            throw .unreadable(file: path, reason: error.reason)
        }
    }
}
