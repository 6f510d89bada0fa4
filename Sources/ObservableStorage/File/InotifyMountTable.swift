#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The file systems of this process, by device number, read again only when one was mounted or unmounted.
    final class InotifyMountTable: Sendable {
        private struct State {
            var descriptor: Int32?
            var mounts: [UInt64: InotifyMount] = [:]
        }

        static let shared = InotifyMountTable()

        private let state = Guarded(State())

        /// The file system with a file's device number; local if it is unknown, as the parts of a btrfs are.
        func mount(of device: UInt64) -> InotifyMount {
            state.withLock { state in
                if Self.isOutdated(&state), let descriptor = state.descriptor {
                    state.mounts = Self.parse(Self.contents(of: descriptor))
                }
                return state.mounts[device] ?? .local
            }
        }

        /// The file systems in the text of `/proc/self/mountinfo`; of several mounts of a device, the first counts.
        static func parse(_ text: String) -> [UInt64: InotifyMount] {
            var mounts: [UInt64: InotifyMount] = [:]
            for line in text.split(separator: "\n") {
                let fields = line.split(separator: " ")
                guard fields.count > 2, let device = number(fields[2]), mounts[device] == nil,
                    let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count
                else { continue }
                mounts[device] = InotifyMount(type: fields[dash + 1])
            }
            return mounts
        }

        /// A device number as `stat` tells it, from its two parts.
        private static func number(_ text: Substring) -> UInt64? {
            let parts = text.split(separator: ":").compactMap { UInt64($0) }
            guard parts.count == 2 else { return nil }
            let (major, minor) = (parts[0], parts[1])
            return (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
        }

        private static func isOutdated(_ state: inout State) -> Bool {
            guard let descriptor = state.descriptor else {
                // It stays open for as long as the process lives: it is what tells that something was mounted.
                let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
                state.descriptor = descriptor < 0 ? nil : descriptor
                return true
            }
            var request = pollfd(fd: descriptor, events: Int16(POLLPRI), revents: 0)
            return poll(&request, 1, 0) != 0
        }

        private static func contents(of descriptor: Int32) -> String {
            var bytes: [UInt8] = []
            var count = 0
            lseek(descriptor, 0, Int32(SEEK_SET))
            repeat {
                count = withUnsafeTemporaryAllocation(byteCount: 16 * 1024, alignment: 1) { buffer in
                    let count = read(descriptor, buffer.baseAddress, buffer.count)
                    bytes.append(contentsOf: buffer[..<max(0, count)])
                    return count
                }
            } while count > 0
            return String(decoding: bytes, as: UTF8.self)
        }
    }
#endif
