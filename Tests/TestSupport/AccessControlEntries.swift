#if os(Linux)
    public import Foundation

    /// A POSIX access control list in text form, for example `user::6 user:33:4 group::0 mask::4 other::0`, set and read by path.
    public struct AccessControlEntries: Sendable, Equatable, ExpressibleByStringLiteral, CustomStringConvertible {
        private typealias Reader = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
        private typealias Writer = @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, CInt) -> CInt

        private static let attribute = "system.posix_acl_access"
        private static let tags: [(tag: UInt16, name: String, hasID: Bool)] = [
            (0x01, "user", false), (0x02, "user", true), (0x04, "group", false), (0x08, "group", true), (0x10, "mask", false),
            (0x20, "other", false),
        ]

        /// The text form.
        public let description: String

        /// Creates a list from its text form, with its entries in the order of the example.
        public init(stringLiteral text: String) {
            description = text
        }

        /// The list of a file; nil if it has none.
        public init?(of path: String) throws {
            let read = unsafeBitCast(dlsym(nil, "getxattr"), to: Reader.self)
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = read(path, Self.attribute, &bytes, bytes.count)
            if count < 0, errno == ENODATA { return nil }
            guard count >= 4 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EINVAL) }
            description = stride(from: 4, to: count, by: 8).map { offset in
                let tag = Self.tags.first { $0.tag == UInt16(bytes[offset]) }
                let id = bytes[offset + 4..<offset + 8].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
                return "\(tag?.name ?? "?"):\(tag?.hasID == true ? String(id) : ""):\(bytes[offset + 2])"
            }.joined(separator: " ")
        }

        /// The attribute's value.
        public var bytes: Data {
            func littleEndian(_ value: some FixedWidthInteger) -> Data { withUnsafeBytes(of: value.littleEndian) { Data($0) } }
            return description.split(separator: " ").reduce(littleEndian(UInt32(2))) { bytes, entry in
                let parts = entry.split(separator: ":", omittingEmptySubsequences: false)
                let tag = Self.tags.first { $0.name == parts[0] && $0.hasID != parts[1].isEmpty }?.tag ?? 0
                return bytes + littleEndian(tag) + littleEndian(UInt16(parts[2]) ?? 0) + littleEndian(UInt32(parts[1]) ?? .max)
            }
        }

        /// Sets it as the list of a file, or as the one that a folder gives to new files.
        public func set(on path: String, asDefault: Bool = false) throws {
            let write = unsafeBitCast(dlsym(nil, "setxattr"), to: Writer.self)
            let attribute = asDefault ? "system.posix_acl_default" : Self.attribute
            let result = bytes.withUnsafeBytes { write(path, attribute, $0.baseAddress, $0.count, 0) }
            guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EINVAL) }
        }

        /// Whether the file system of temporary folders has access control lists.
        public static let areSupported: Bool = {
            do {
                let folder = try TemporaryFolder()
                let list: AccessControlEntries = "user::6 user:33:4 group::0 mask::4 other::0"
                try list.set(on: folder.make("file"))
                return try AccessControlEntries(of: folder.path("file")) == list
            } catch {
                return false
            }
        }()
    }
#endif
