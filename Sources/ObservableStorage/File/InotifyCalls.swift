#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// The kernel's side of inotify; a negative result is the negated error number.
    struct InotifyCalls: Sendable {
        /// Makes an instance and returns its descriptor.
        var open: @Sendable () -> Int32
        /// Watches a path, adding to what is watched of its inode already, and returns the watch.
        var watch: @Sendable (_ instance: Int32, _ path: String, _ mask: UInt32) -> Int32
        /// Ends a watch.
        var unwatch: @Sendable (_ instance: Int32, _ watch: Int32) -> Int32
        /// What is known of the file system with a file's device number.
        var mount: @Sendable (_ device: UInt64) -> InotifyMount
        /// Whether something is mounted over a folder or file.
        var isMountPoint: @Sendable (_ path: String) -> Bool
        /// Calls a listener each time something is mounted or unmounted; false if that is not told.
        var watchMounts: @Sendable (@escaping MountWatch.Listener) -> Bool

        static let system = InotifyCalls(
            open: { negated(inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))) },
            watch: { negated(inotify_add_watch($0, $1, $2)) },
            unwatch: { negated(inotify_rm_watch($0, $1)) },
            mount: { InotifyMountTable.shared.mount(of: $0) },
            isMountPoint: { InotifyMountTable.shared.isMountPoint($0) },
            watchMounts: { MountWatch.shared.add($0) })

        private static func negated(_ result: Int32) -> Int32 {
            result < 0 ? -errno : result
        }
    }
#endif
