import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Data protection", .timeLimit(.minutes(10)))
struct FileProtectionTests {
    /// The protection classes of the files of a fake system, by their inode numbers.
    private final class Classes: Sendable {
        private let numbers = Lock<[UInt64: Int32]>([:])
        /// The system calls that concern a class or a name, in their order.
        let events = Lock<[String]>([])
        let failure: Int32?

        init(failure: Int32? = nil) {
            self.failure = failure
        }

        subscript(path: String) -> Int32? {
            get { Self.inode { stat(path, &$0) }.flatMap { inode in numbers.withLock { $0[inode] } } }
            set { if let inode = Self.inode({ stat(path, &$0) }) { numbers.withLock { $0[inode] = newValue } } }
        }

        private static func inode(_ call: (inout stat) -> Int32) -> UInt64? {
            var status = stat()
            return call(&status) == 0 ? UInt64(status.st_ino) : nil
        }

        var calls: FileSystemCalls {
            var calls = FileSystemCalls.live
            calls.protectionClass = { descriptor in
                Self.inode { fstat(descriptor, &$0) }.flatMap { inode in self.numbers.withLock { $0[inode] } }
            }
            calls.setProtectionClass = { descriptor, number throws(SystemError) in
                self.events.withLock { $0.append("class \(number)") }
                if let failure = self.failure { throw SystemError(failure) }
                if let inode = Self.inode({ fstat(descriptor, &$0) }) { self.numbers.withLock { $0[inode] = number } }
            }
            calls.writeBytes = { descriptor, bytes throws(SystemError) in
                self.events.withLock { $0.append("write") }
                return try FileSystemCalls.live.writeBytes(descriptor, bytes)
            }
            calls.renameFile = { old, new throws(SystemError) in
                self.events.withLock { $0.append("rename") }
                try FileSystemCalls.live.renameFile(old, new)
            }
            return calls
        }
    }

    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func backend(_ classes: Classes, _ protection: FileProtection? = nil) -> PropertyListFile {
        PropertyListFile(at: file, onCorruption: .refuse, lockTimeout: .seconds(10), protection: protection, calls: classes.calls)
    }

    @Test("A new file has the chosen protection before it has content; its lock file has none, so that it can always be used")
    func creation() throws {
        let classes = Classes()
        _ = try backend(classes, .complete).edit { $0["count"] = 1 }
        #expect(classes[file.path] == 1)
        #expect(classes[folder.path(".settings.plist.lock")] == 4)
        #expect(classes.events.withLock { $0 } == ["class 1", "write", "class 4", "rename"])
        #expect(FileProtection.allCases.map(\.number) == [1, 2, 3, 4])
    }

    @Test("A replaced file keeps its protection, whatever is chosen for new ones")
    func replacement() throws {
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: file)
        let classes = Classes()
        classes[file.path] = 2
        _ = try backend(classes, FileProtection.none).edit { $0["count"] = 2 }
        #expect(classes[file.path] == 2)
        #expect(classes.events.withLock { $0.filter { $0 != "class 4" } } == ["class 2", "write", "rename"])
    }

    @Test("Without a choice, a new file keeps the protection that the system gives it")
    func defaults() throws {
        let classes = Classes()
        _ = try backend(classes).edit { $0["count"] = 1 }
        #expect(classes[file.path] == nil)
    }

    @Test("A file system without protection is used as it is", arguments: [EINVAL, ENOTSUP, ENOTTY])
    func unsupported(code: Int32) throws {
        _ = try backend(Classes(failure: code), .complete).edit { $0["count"] = 1 }
        #expect(try PropertyListFile(at: file).load().values == ["count": 1])
    }

    @Test("If the protection cannot be kept, the file is not replaced by a less protected one")
    func refused() throws {
        let bytes = try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary)
        try bytes.write(to: file)
        let classes = Classes(failure: EPERM)
        classes[file.path] = 1
        #expect {
            try backend(classes).edit { $0["count"] = 2 }
        } throws: { "\($0)".contains("setting the data protection of the temporary file") }
        #expect(try Data(contentsOf: file) == bytes)
        #expect(try folder.names() == ["settings.plist"])
    }

    @Test("While the device is locked, a file whose protection cannot be read is not replaced")
    func locked() throws {
        let bytes = try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary)
        try bytes.write(to: file)
        let isLocked = Lock(false)
        var calls = Classes().calls
        calls.openDescriptor = { [file] path, flags, mode throws(SystemError) in
            if path.path == file.path, isLocked.withLock({ $0 }) { throw SystemError(EPERM) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let backend = PropertyListFile(at: file, onCorruption: .refuse, lockTimeout: .seconds(10), calls: calls)
        _ = try backend.load()
        isLocked.withLock { $0 = true }
        #expect(throws: StorageError.self) { try backend.edit { $0["count"] = 2 } }
        #expect(try Data(contentsOf: file) == bytes)
    }
}
