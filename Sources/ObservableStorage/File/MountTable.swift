#if !canImport(Darwin)
    import Dispatch
    import FoundationSubset

    /// The mounted file systems of this process, and a thread that waits for changes of them until the process ends.
    ///
    /// For each descriptor of `/proc/self/mountinfo`, the kernel reports a change once, to the first poll for `POLLPRI`, which Dispatch
    /// does not support. A nested `epoll` descriptor would lose changes, because Dispatch polls it twice each time it rearms its source.
    /// Hence a waiting thread, one of Dispatch's.
    final class MountTable: Sendable {
        /// Receives the paths of mounts and unmounts, and returns whether it has to be called again.
        typealias Listener = @Sendable (_ points: Set<String>) -> Bool

        static let shared = MountTable()

        // Limits how often the table is read while containers start and end.
        private static let interval = Duration.milliseconds(50)
        private static let retryInterval = Duration.seconds(2)

        private let calls: FileSystemCalls
        private let queue = DispatchQueue(label: "ObservableStorage.MountTable")
        private struct Table {
            /// Reports changes, and is never closed.
            let descriptor: Int32
            let identity: FileIdentity
            /// The type of each device; nil for one that a table which was opened for it lacked as well.
            var types: [UInt64: String?]
            let points: Set<String>
            /// Whether a change was reported, which is done once, and could not be read.
            var isOutdated = false

            init(_ mounts: [MountInfo], of descriptor: Int32, _ identity: FileIdentity) {
                (self.descriptor, self.identity) = (descriptor, identity)
                (types, points) = (MountTable.types(mounts).mapValues { $0 }, Set(mounts.map(\.point)))
            }
        }

        /// Read again only after the descriptor has reported a mount or unmount.
        private let known = Lock<Table?>(nil)
        /// Whether a thread waits for changes, and the listeners that it calls.
        private let listening = Lock<(isRunning: Bool, listeners: [Listener])>((false, []))

        init(calls: FileSystemCalls = .live) {
            self.calls = calls
        }

        /// The type of the file system with a file's device number; nil if it is unknown, as for the subvolumes of a btrfs.
        func fileSystemType(of device: UInt64) -> String? {
            if let type = current()?.types[device] { return type }
            // The descriptor may show the mounts of a namespace that this process has left, or share its changes with a forked child.
            guard let descriptor = MountInfo.open(calls) else { return nil }
            defer { calls.discard(descriptor) }
            guard let mounts = MountInfo.all(from: descriptor, calls) else { return nil }
            let type = Self.types(mounts)[device]
            known.withLock { _ = $0?.types.updateValue(type, forKey: device) }
            return type
        }

        /// Whether a folder or file is a mount point.
        ///
        /// - Parameter path: absolute and free of links.
        func isMountPoint(_ path: String) -> Bool {
            current()?.points.contains(path) ?? false
        }

        /// The type of each device; for several mounts of one device, the type of the first.
        static func types(_ mounts: [MountInfo]) -> [UInt64: String] {
            Dictionary(mounts.map { ($0.device, $0.type) }) { first, _ in first }
        }

        /// The current mounts, or the last ones that could be read; nil if none could.
        private func current() -> Table? {
            known.withLock { known in
                // A program that closes all descriptors has also closed that of the table, which may be another file's now.
                if let table = known, identity(of: table.descriptor)?.isSameFile(as: table.identity) == true {
                    var request = pollfd(fd: table.descriptor, events: Int16(POLLPRI), revents: 0)
                    if poll(&request, 1, 0) != 0 { known?.isOutdated = true }
                    if known?.isOutdated == true, let mounts = MountInfo.all(from: table.descriptor, calls) {
                        known = Table(mounts, of: table.descriptor, table.identity)
                    }
                } else if let (descriptor, identity) = open() {
                    guard let mounts = MountInfo.all(from: descriptor, calls) else {
                        calls.discard(descriptor)
                        return known
                    }
                    known = Table(mounts, of: descriptor, identity)
                }
                return known
            }
        }

        private func open() -> (descriptor: Int32, identity: FileIdentity)? {
            guard let descriptor = MountInfo.open(calls) else { return nil }
            if let identity = identity(of: descriptor) { return (descriptor, identity) }
            calls.discard(descriptor)
            return nil
        }

        private func identity(of descriptor: Int32) -> FileIdentity? {
            calls.ifPossible { () throws(SystemError) in try calls.status(of: descriptor).identity }
        }

        // MARK: Listening

        /// Adds a listener, called on the table's queue; returns false if the system does not report mounts, as without `/proc`.
        func add(_ listener: @escaping Listener) -> Bool {
            listening.withLock { state in
                if !state.isRunning {
                    guard let file = open() else { return false }
                    let mounts = Set(MountInfo.all(from: file.descriptor, calls) ?? [])
                    queue.async { self.run(file, mounts) }
                }
                state = (true, state.listeners + [listener])
                return true
            }
        }

        private func run(_ first: (descriptor: Int32, identity: FileIdentity), _ start: Set<MountInfo>) {
            var (file, mounts) = (first, start)
            while true {
                if identity(of: file.descriptor)?.isSameFile(as: file.identity) == true {
                    Self.waitForChange(file.descriptor)
                } else if let opened = open() {
                    // As in `current()`. What the closed file would have reported is found by reading the new one.
                    file = opened
                } else {
                    calls.pause(Self.retryInterval)
                    continue
                }
                // Without it, if the descriptor was closed meanwhile.
                let now = MountInfo.all(from: file.descriptor, calls).map(Set.init) ?? mounts
                let changed = mounts.symmetricDifference(now)
                mounts = now
                if !changed.isEmpty { report(Set(changed.map(\.point))) }
                calls.pause(Self.interval)
            }
        }

        /// Returns after a mount or unmount, or if other code closes the descriptor.
        private static func waitForChange(_ descriptor: Int32) {
            var request = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            while poll(&request, 1, -1) < 0, errno == EINTR {}
        }

        private func report(_ points: Set<String>) {
            let listeners = listening.withLock { state in
                defer { state.listeners = [] }
                return state.listeners
            }
            let remaining = listeners.filter { $0(points) }
            listening.withLock { $0.listeners += remaining }
        }
    }

    /// A mounted file system, as a line of `/proc/self/mountinfo` describes it.
    struct MountInfo: Sendable, Hashable {
        /// Unique among the current mounts.
        let id: String
        /// The device number of its files, as `stat` returns it.
        let device: UInt64
        /// The folder or file of the file system that is mounted.
        let root: String
        /// The folder or file over which it is mounted.
        let point: String
        /// The kernel's name of the type of file system.
        let type: String

        private static let pieceSize = 64 << 10
        private static let remoteFamilies: Set<String> = [
            "9p", "afs", "ceph", "cifs", "coda", "fuse", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "prl_fs", "smb3",
            "smbfs", "vboxsf", "virtiofs", "vmhgfs",
        ]

        /// Whether a type of file system can be changed remotely, which inotify never reports.
        static func isRemote(_ type: String) -> Bool {
            remoteFamilies.contains(family(of: type))
        }

        /// Whether a type of file system has lower layers, whose changes inotify does not report.
        static func isLayered(_ type: String) -> Bool {
            family(of: type) == "overlay"
        }

        private static func family(of type: String) -> String {
            String(type.prefix { $0 != "." })
        }

        /// Parses a line; returns nil if it does not describe a mount.
        init?(line: Substring) {
            let fields = line.split(separator: " ")
            guard fields.count > 4, let device = Self.device(fields[2]), let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
            else { return nil }
            id = String(fields[0])
            self.device = device
            root = Self.unescaped(fields[3])
            point = Self.unescaped(fields[4])
            type = String(fields[dash + 1])
        }

        static func parse(_ text: String) -> [MountInfo] {
            text.split(separator: "\n").compactMap(MountInfo.init)
        }

        fileprivate static func open(_ calls: FileSystemCalls) -> Int32? {
            calls.ifPossible { () throws(SystemError) in try calls.openFile(ResolvedPath("mountinfo", in: "/proc/self"), O_RDONLY) }
        }

        /// The current mounts, as an open file lists them; nil if it cannot be read, which the next change causes again.
        fileprivate static func all(from descriptor: Int32, _ calls: FileSystemCalls) -> [MountInfo]? {
            calls.ifPossible { () throws(SystemError) in
                var bytes = Data()
                while true {
                    let piece = try calls.bytes(of: descriptor, at: bytes.count, count: pieceSize)
                    if piece.isEmpty { return parse(String(decoding: bytes, as: UTF8.self)) }
                    bytes += piece
                }
            }
        }

        private static func device(_ text: Substring) -> UInt64? {
            let parts = text.split(separator: ":").compactMap { UInt32($0) }
            return parts.count == 2 ? device(parts[0], parts[1]) : nil
        }

        /// A device number as `stat` returns it, from its two parts.
        static func device(_ major: UInt32, _ minor: UInt32) -> UInt64 {
            let (major, minor) = (UInt64(major), UInt64(minor))
            return (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
        }

        /// A path without escapes: the kernel writes white space and backslashes as three octal digits.
        private static func unescaped(_ field: Substring) -> String {
            guard field.utf8.contains(UInt8(ascii: "\\")) else { return String(field) }
            var bytes: [UInt8] = []
            var rest = field.utf8[...]
            while let byte = rest.popFirst() {
                let digits = rest.prefix(3)
                if byte == UInt8(ascii: "\\"), digits.count == 3, let code = UInt8(String(Substring(digits)), radix: 8) {
                    bytes.append(code)
                    rest = rest.dropFirst(3)
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
