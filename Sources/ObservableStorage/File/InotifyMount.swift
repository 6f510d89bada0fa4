#if os(Linux)
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

        /// The file system of this type, as `/proc/self/mountinfo` names it.
        init(type: some StringProtocol) {
            let family = String(type.prefix { $0 != "." })
            if Self.remoteTypes.contains(family) {
                self = .remote(type: String(type))
            } else {
                self = family == "overlay" ? .layered : .local
            }
        }
    }
#endif
