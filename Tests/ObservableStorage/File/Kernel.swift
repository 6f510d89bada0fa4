#if os(Linux)
    import Foundation
    import Glibc

    /// What the kernel says this process has open.
    enum Kernel {
        private static func entries() -> [String] {
            guard let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") else { return [] }
            return names
        }

        private static func target(_ descriptor: String) -> String? {
            try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/" + descriptor)
        }

        /// What each open descriptor refers to.
        static func descriptors() -> [String] {
            entries().compactMap(target)
        }

        /// How many inotify instances are open.
        static func instances() -> Int {
            descriptors().count { $0.contains("inotify") }
        }

        private static func instanceInfo() -> [String] {
            entries().filter { target($0)?.contains("inotify") == true }.compactMap { Disk.read("/proc/self/fdinfo/" + $0) }
        }

        /// The open flags of an inotify instance.
        static func instanceFlags() -> Int32? {
            for line in instanceInfo().joined().split(separator: "\n") where line.hasPrefix("flags:") {
                return Int32(line.dropFirst(6).trimmingPrefix { $0.isWhitespace }, radix: 8)
            }
            return nil
        }

        /// Whether any inotify instance watches what is at the path.
        static func isWatched(_ path: String) -> Bool {
            var status = stat()
            guard lstat(path, &status) == 0 else { return false }
            return instanceInfo().contains { $0.contains(" ino:\(String(status.st_ino, radix: 16)) ") }
        }
    }
#endif
