import Dispatch
import FoundationSubset

/// The system calls for watching an open file or folder, which tests replace.
struct VnodeCalls: Sendable {
    /// The flags that open a file or folder for its events only, without blocking.
    let openFlags: Int32
    /// Creates a source, not activated, whose data is the raw value of the events of an open file or folder.
    let makeSource:
        @Sendable (_ descriptor: Int32, _ mask: DispatchSource.FileSystemEvent, _ queue: DispatchQueue) -> any DispatchSourceProtocol
    /// Whether the file system at a path is local; true if that cannot be determined.
    let isLocal: @Sendable (_ path: String) -> Bool
}

/// A folder or file that is open and watched.
final class VnodeWatch: Sendable {
    /// The reason why a file or folder is watched. The last of several roles applies, because its events include those of the others.
    enum Role: Int, Sendable, Hashable {
        /// A folder on the path, in which a folder is looked up: watched for being moved or removed.
        case passage
        /// A folder in which a link, a missing name or the last name is looked up: also watched for changes of its names.
        case directory
        /// The file: watched for all events.
        case file

        var mask: DispatchSource.FileSystemEvent {
            switch self {
            case .passage: [.delete, .rename, .revoke, .attrib]
            case .directory: [.delete, .rename, .revoke, .attrib, .write, .link]
            case .file: [.delete, .rename, .revoke, .attrib, .write, .extend, .link]
            }
        }

        /// The events of the path.
        func events(_ mask: DispatchSource.FileSystemEvent) -> PathEvents {
            var events: PathEvents = []
            if self == .file, !mask.isDisjoint(with: [.write, .extend, .attrib]) { events.insert(.modified) }
            if self != .file || !mask.isDisjoint(with: [.delete, .rename, .revoke, .link]) { events.insert(.rerouted) }
            return events
        }
    }

    let role: Role
    /// The identity of the open file or folder.
    let identity: FileIdentity
    private let source: ActivatedSource

    /// Opens the file or folder at the path; returns nil if it no longer exists.
    ///
    /// - Parameter handler: called on the queue with its events; first with nil, when the watch takes effect.
    init?(
        path: String, role: Role, queue: DispatchQueue, vnodes: VnodeCalls, calls: FileSystemCalls,
        handler: @escaping @Sendable (_ events: DispatchSource.FileSystemEvent?) -> Void
    ) throws(WatchError) {
        let descriptor: Int32
        do throws(SystemError) {
            // The path contains no links, so a link was created just now.
            descriptor = try calls.openFile(ResolvedPath(splitting: path), vnodes.openFlags | O_NOFOLLOW)
        } catch let error where error.isMissing || error.code == ELOOP {
            return nil
        } catch {
            throw WatchError(error, at: path)
        }
        do throws(SystemError) {
            identity = try calls.status(of: descriptor).identity
        } catch {
            calls.discard(descriptor)
            throw WatchError(error, at: path)
        }
        self.role = role
        let events = vnodes.makeSource(descriptor, role.mask, queue)
        // Earlier changes are found by resolving the path once more.
        events.setRegistrationHandler { handler(nil) }
        source = ActivatedSource(events, released: { calls.discard(descriptor) }) { data in
            handler(DispatchSource.FileSystemEvent(rawValue: data))
        }
    }

    func cancel() {
        source.cancel()
    }
}
