#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif
    import Synchronization

    /// How far inotify can be trusted on a file system.
    enum InotifyMount: Sendable, Hashable {
        /// Every change goes through this kernel.
        case local
        /// Changes made through the mount are told; its layers may be changed underneath it.
        case layered
        /// Others change it from elsewhere, which inotify never tells.
        case remote(type: String)

        private static let remoteTypes: Set<String> = [
            "9p", "afs", "ceph", "cifs", "coda", "fuse", "gfs2", "gpfs", "lustre", "ncpfs", "nfs", "nfs4", "ocfs2", "prl_fs", "smb3",
            "smbfs", "vboxsf", "virtiofs", "vmhgfs",
        ]

        // A disk's number does not come to mean another kind of file system, unlike a number without a disk.
        private static let disks = Mutex<[UInt64: InotifyMount]>([:])

        /// The file system of this type, as `/proc/self/mountinfo` names it.
        init(type: some StringProtocol) {
            let family = String(type.prefix { $0 != "." })
            if Self.remoteTypes.contains(family) {
                self = .remote(type: String(type))
            } else {
                self = family == "overlay" ? .layered : .local
            }
        }

        /// The file system with a file's device number; local if it is unknown, as the parts of a btrfs are.
        init(device: UInt64) {
            // The layout of `dev_t`, as `major()` and `minor()` take it apart.
            let major = (device >> 8) & 0xFFF | (device >> 32) & 0xFFFF_F000
            let minor = device & 0xFF | (device >> 12) & 0xFFFF_FF00
            if let known = Self.disks.withLock({ $0[device] }) {
                self = known
                return
            }
            self = InotifyMount(number: "\(major):\(minor)", mounts: Self.mounts())
            let result = self
            if major != 0 { Self.disks.withLock { $0[device] = result } }
        }

        /// The file system with a device number, looked up in the text of `mountinfo`.
        init(number: String, mounts: String) {
            self = .local
            for line in mounts.split(separator: "\n") {
                let fields = line.split(separator: " ")
                guard fields.count > 2, fields[2] == number, let dash = fields.firstIndex(of: "-"), dash + 1 < fields.count else {
                    continue
                }
                self = InotifyMount(type: fields[dash + 1])
                return
            }
        }

        private static func mounts() -> String {
            let descriptor = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
            guard descriptor >= 0 else { return "" }
            defer { _ = close(descriptor) }
            var bytes: [UInt8] = []
            var count = 0
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
