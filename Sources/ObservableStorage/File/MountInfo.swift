#if os(Linux)
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// One mounted file system, as a line of `/proc/self/mountinfo` tells it.
    struct MountInfo: Sendable, Hashable {
        /// Unique among what is mounted at one time.
        let id: String
        /// As `stat` tells it of the files on it.
        let device: UInt64
        /// What of the file system is mounted: a folder or a file of it.
        let root: String
        /// The folder or the file that it hides.
        let point: String
        /// The file system's name in the kernel.
        let type: String

        /// Reads one line; nil if it is none.
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

        /// What the text of the whole file tells.
        static func parse(_ text: String) -> [MountInfo] {
            text.split(separator: "\n").compactMap(MountInfo.init)
        }

        /// Opens the file; negative if there is none.
        static func openFile() -> Int32 {
            open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        }

        /// What is mounted now.
        ///
        /// - Parameter descriptor: what ``openFile()`` returned.
        static func all(from descriptor: Int32) -> [MountInfo] {
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
            return parse(String(decoding: bytes, as: UTF8.self))
        }

        /// A device number as `stat` tells it, from its two parts.
        private static func device(_ text: Substring) -> UInt64? {
            let parts = text.split(separator: ":").compactMap { UInt64($0) }
            guard parts.count == 2 else { return nil }
            let (major, minor) = (parts[0], parts[1])
            return (major & 0xFFF) << 8 | (major & ~0xFFF) << 32 | minor & 0xFF | (minor & ~0xFF) << 12
        }

        /// A path as it is; the kernel writes white space and backslashes in it as three octal digits.
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
