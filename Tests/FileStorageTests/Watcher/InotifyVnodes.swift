#if os(Linux)
    import Dispatch
    import Foundation
    import Glibc

    @testable import ObservableStorage

    /// Reports the events that kqueue would report for open files and folders, as far as inotify reports them.
    ///
    /// A folder reports a write when a name in it is created, removed or renamed; a file reports every write, but no close; both report that
    /// they are renamed or removed.
    final class InotifyVnodes: Sendable {
        private static let mask = UInt32(
            IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO)

        private struct State {
            /// The open files of a watch, and those whose folder it is, by their names.
            var files: [Int32: Set<Int32>] = [:]
            var names: [Int32: [Int32: String]] = [:]
        }

        let fake = FakeVnodes()
        private let inotify: Int32
        private let state = Lock(State())
        private let queue = DispatchQueue(label: "InotifyVnodes")
        private let source = Lock<ActivatedSource?>(nil)

        init() throws {
            let inotify = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard inotify >= 0 else { throw CocoaError(.fileReadUnknown) }
            self.inotify = inotify
            fake.onSource { [weak self] in
                self?.add($0)
            } willClose: { [weak self] in
                self?.remove($0)
            }
            let reading = ActivatedSource(DispatchSource.makeReadSource(fileDescriptor: inotify, queue: queue)) {
                close(inotify)
            } handler: { [weak self] _ in
                self?.read()
            }
            source.withLock { $0 = reading }
        }

        private func add(_ descriptor: Int32) {
            let link = "/proc/self/fd/\(descriptor)"
            guard let path = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return }
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
            state.withLock { state in
                let file = inotify_add_watch(inotify, link, Self.mask)
                if file >= 0 { state.files[file, default: []].insert(descriptor) }
                let parent = inotify_add_watch(inotify, folder, Self.mask)
                if parent >= 0 {
                    state.names[parent, default: [:]][descriptor] = String(path.dropFirst(folder == "/" ? 1 : folder.count + 1))
                }
            }
        }

        private func remove(_ descriptor: Int32) {
            state.withLock { state in
                for watch in Set(state.files.keys).union(state.names.keys) {
                    state.files[watch]?.remove(descriptor)
                    state.names[watch]?[descriptor] = nil
                    guard state.files[watch]?.isEmpty ?? true, state.names[watch]?.isEmpty ?? true else { continue }
                    (state.files[watch], state.names[watch]) = (nil, nil)
                    inotify_rm_watch(inotify, watch)
                }
            }
        }

        private func read() {
            withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 8) { buffer in
                while true {
                    let count = Glibc.read(inotify, buffer.baseAddress, buffer.count)
                    guard count > 0 else { return }
                    InotifyEvent.forEach(in: UnsafeRawBufferPointer(rebasing: buffer[..<count]), report)
                }
            }
        }

        private func report(_ event: InotifyEvent) {
            let (files, children) = state.withLock { state in
                (state.files[event.watch] ?? [], (state.names[event.watch] ?? [:]).filter { $0.value == event.name }.map(\.key))
            }
            if event.name == nil {
                for file in files { fake.send(Self.own(event, file), to: file) }
            } else {
                if event.contains(IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO) {
                    for folder in files { fake.send([.write, .link], to: folder) }
                }
                if event.contains(IN_DELETE) { for child in children { fake.send(.delete, to: child) } }
            }
        }

        /// The events of a file or folder itself.
        private static func own(_ event: InotifyEvent, _ descriptor: Int32) -> DispatchSource.FileSystemEvent {
            var events: DispatchSource.FileSystemEvent = []
            if event.contains(IN_MODIFY) { events.formUnion([.write, .extend]) }
            if event.contains(IN_MOVE_SELF) { events.insert(.rename) }
            if event.contains(IN_ATTRIB) {
                var status = stat()
                let isRemoved = fstat(descriptor, &status) == 0 && status.st_nlink == 0
                events.formUnion(isRemoved ? [.delete, .link] : [.attrib, .link])
            }
            return events
        }
    }
#endif
