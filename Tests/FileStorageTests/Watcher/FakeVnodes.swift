import Dispatch
import Foundation

@testable import ObservableStorage

/// Replaces the kernel's sources of Apple's systems: real files and folders are opened, and a test sends their events.
final class FakeVnodes: Sendable {
    typealias Event = DispatchSource.FileSystemEvent

    /// An open file, and its source. Unchecked because Dispatch synchronizes a source, and the rest is immutable.
    private final class Vnode: @unchecked Sendable {
        let mask: Event
        let source: any DispatchSourceUserDataOr

        init(mask: Event, queue: DispatchQueue) {
            self.mask = mask
            source = DispatchSource.makeUserDataOrSource(queue: queue)
        }
    }

    private struct State {
        var paths: [Int32: String] = [:]
        var vnodes: [Int32: Vnode] = [:]
        var opened: [String] = []
        var closed: [String] = []
        var surveys = 0
        var willOpen: @Sendable (String) throws -> Void = { _ in }
        var didOpen: @Sendable (Int32) -> Void = { _ in }
        var willClose: @Sendable (Int32) -> Void = { _ in }
        var isLocal = true
    }

    private let state = Lock(State())

    /// The paths that were opened so far, in order.
    var opened: [String] { state.withLock { $0.opened } }
    /// The paths whose descriptors were closed so far, in order.
    var closed: [String] { state.withLock { $0.closed } }
    /// The paths that are watched, sorted; a path that is watched twice is there twice.
    var watched: [String] { state.withLock { $0.paths.values.sorted() } }
    /// The number of files whose status was read.
    var surveys: Int { state.withLock { $0.surveys } }

    /// Calls a closure before a file is opened. A `SystemError` that it throws is thrown instead.
    func willOpen(_ body: @escaping @Sendable (_ path: String) throws -> Void) {
        state.withLock { $0.willOpen = body }
    }

    /// Calls closures after a source is created, which is not registered yet, and before its file is closed.
    func onSource(didOpen: @escaping @Sendable (Int32) -> Void, willClose: @escaping @Sendable (Int32) -> Void = { _ in }) {
        state.withLock { ($0.didOpen, $0.willClose) = (didOpen, willClose) }
    }

    /// Makes all file systems remote, or local.
    func setLocal(_ isLocal: Bool) {
        state.withLock { $0.isLocal = isLocal }
    }

    /// Sends the events that a source was created for, as the kernel does.
    func send(_ events: Event, to descriptor: Int32) {
        guard let vnode = state.withLock({ $0.vnodes[descriptor] }) else { return }
        let reported = events.intersection(vnode.mask)
        if !reported.isEmpty { vnode.source.or(data: reported.rawValue) }
    }

    /// Sends events of the file or folder that is watched at a path; returns false if there is none.
    @discardableResult
    func send(_ events: Event, to path: String) -> Bool {
        let descriptors = state.withLock { state in state.paths.filter { $0.value == path }.keys.sorted() }
        for descriptor in descriptors { send(events, to: descriptor) }
        return !descriptors.isEmpty
    }

    var vnodes: VnodeCalls {
        VnodeCalls(
            openFlags: O_NONBLOCK,
            makeSource: { [self] descriptor, mask, queue in
                let vnode = Vnode(mask: mask, queue: queue)
                let didOpen = state.withLock { state in
                    state.vnodes[descriptor] = vnode
                    return state.didOpen
                }
                didOpen(descriptor)
                return vnode.source
            },
            isLocal: { [self] _ in state.withLock { $0.isLocal } })
    }

    var calls: FileSystemCalls {
        let live = FileSystemCalls.live
        var calls = live
        calls.openDescriptor = { [self] path, flags, mode throws(SystemError) in
            do {
                try state.withLock { $0.willOpen }(path.path)
            } catch let error as SystemError {
                throw error
            } catch {
                throw SystemError(EIO)
            }
            let descriptor = try live.openDescriptor(path, flags, mode)
            state.withLock { state in
                state.paths[descriptor] = path.path
                state.opened.append(path.path)
            }
            return descriptor
        }
        calls.closeDescriptor = { [self] descriptor throws(SystemError) in
            state.withLock { $0.willClose }(descriptor)
            // Before the descriptor can be that of another file.
            state.withLock { state in
                state.vnodes[descriptor] = nil
                if let path = state.paths.removeValue(forKey: descriptor) { state.closed.append(path) }
            }
            try live.closeDescriptor(descriptor)
        }
        calls.statusOfPath = { [self] path, followsLinks throws(SystemError) in
            state.withLock { $0.surveys += 1 }
            return try live.statusOfPath(path, followsLinks)
        }
        return calls
    }

    /// The service that watches with these sources.
    var service: WatchService {
        .vnode(vnodes, calls: calls)
    }
}
