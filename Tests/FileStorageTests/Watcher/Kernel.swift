#if os(Linux)
    import Foundation
    import Glibc

    /// The descriptors that are open in this process.
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

        private static func mark(_ path: String) -> String? {
            var status = stat()
            return lstat(path, &status) == 0 ? "ino:" + String(status.st_ino, radix: 16) : nil
        }

        /// The number of inotify instances that watch the file at the path.
        static func instances(watching path: String) -> Int {
            guard let mark = mark(path) else { return 0 }
            return instanceInfo().count { $0.contains(" \(mark) ") }
        }

        /// Whether any inotify instance watches the file at the path.
        static func isWatched(_ path: String) -> Bool {
            instances(watching: path) > 0
        }

        /// The paths whose file is watched by an inotify instance.
        static func watched(among paths: [String]) -> [String] {
            let marks = Set(instanceInfo().joined().split { $0 == " " || $0 == "\n" }.filter { $0.hasPrefix("ino:") }.map(String.init))
            return paths.filter { mark($0).map(marks.contains) ?? false }
        }
    }
#endif
