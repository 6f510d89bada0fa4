import Foundation
import PropertyListCoding

/// The C library libplist, which reads and writes both formats.
struct LibPlist {
    /// A property list in its memory.
    final class Tree {
        fileprivate let root: OpaquePointer
        private let release: @convention(c) (OpaquePointer) -> Void

        fileprivate init(_ root: OpaquePointer, release: @escaping @convention(c) (OpaquePointer) -> Void) {
            (self.root, self.release) = (root, release)
        }

        deinit { release(root) }
    }

    /// Bytes that it has written.
    final class Output {
        private let start: UnsafeMutablePointer<CChar>

        fileprivate init(_ start: UnsafeMutablePointer<CChar>) { self.start = start }

        deinit { free(start) }
    }

    private typealias Read = @convention(c) (UnsafePointer<CChar>?, UInt32, UnsafeMutablePointer<OpaquePointer?>) -> CInt
    private typealias Write =
        @convention(c) (
            OpaquePointer, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>, UnsafeMutablePointer<UInt32>
        ) -> CInt

    /// Why rows that need it are skipped; nil if it is installed.
    static let missing: String? = library == nil ? "needs libplist (Debian: libplist3)" : nil
    private static let library = SharedLibrary("libplist-2.0.so.4", "libplist-2.0.so.3", "libplist-2.0.dylib")

    private let (readBinary, readXML): (Read, Read)
    private let (writeBinary, writeXML): (Write, Write)
    private let release: @convention(c) (OpaquePointer) -> Void

    init() throws {
        guard let library = Self.library else { throw Failure("there is no libplist") }
        (readBinary, readXML) = try (library.function("plist_from_bin"), library.function("plist_from_xml"))
        (writeBinary, writeXML) = try (library.function("plist_to_bin"), library.function("plist_to_xml"))
        release = try library.function("plist_free")
    }

    func parse(_ bytes: Data, as format: PropertyListFormat) throws -> Tree {
        var root: OpaquePointer?
        bytes.withUnsafeBytes { bytes in
            let read = format == .binary ? readBinary : readXML
            _ = read(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), UInt32(bytes.count), &root)
        }
        guard let root else { throw Failure("libplist cannot read the list") }
        return Tree(root, release: release)
    }

    func write(_ tree: Tree, as format: PropertyListFormat) throws -> Output {
        var (start, count) = (UnsafeMutablePointer<CChar>?.none, UInt32(0))
        _ = (format == .binary ? writeBinary : writeXML)(tree.root, &start, &count)
        guard let start else { throw Failure("libplist cannot write the list") }
        return Output(start)
    }
}
