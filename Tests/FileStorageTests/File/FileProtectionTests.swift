import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Data protection", .timeLimit(.minutes(10)))
struct FileProtectionTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func backend(_ classes: ProtectionClasses, _ protection: FileProtection? = nil) -> PropertyListFile {
        PropertyListFile(at: file, configuration: .with { $0.protection = protection }, calls: classes.calls)
    }

    @Test("A new file has the chosen protection before it has content; its lock file has none, so that it can always be used")
    func creation() throws {
        let classes = ProtectionClasses()
        _ = try backend(classes, .complete).edit { $0["count"] = 1 }
        #expect(classes[file.path] == 1)
        #expect(classes[folder.path(".settings.plist.lock")] == 4)
        #expect(classes.events.withLock { $0 } == ["class 1", "write", "class 4", "rename"])
        #expect(FileProtection.allCases.map(\.number) == [1, 2, 3, 4])
    }

    @Test("A replaced file keeps its protection, whatever is chosen for new ones")
    func replacement() throws {
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: file)
        let classes = ProtectionClasses()
        classes[file.path] = 2
        _ = try backend(classes, FileProtection.none).edit { $0["count"] = 2 }
        #expect(classes[file.path] == 2)
        #expect(classes.events.withLock { $0.filter { $0 != "class 4" } } == ["class 2", "write", "rename"])
    }

    @Test("Without a choice, a new file keeps the protection that the system gives it")
    func defaults() throws {
        let classes = ProtectionClasses()
        _ = try backend(classes).edit { $0["count"] = 1 }
        #expect(classes[file.path] == nil)
    }

    @Test("A file system without protection is used as it is", arguments: [EINVAL, ENOTSUP, ENOTTY])
    func unsupported(code: Int32) throws {
        _ = try backend(ProtectionClasses(failure: code), .complete).edit { $0["count"] = 1 }
        #expect(try PropertyListFile(at: file).load().values == ["count": 1])
    }

    @Test("If the protection cannot be kept, the file is not replaced by a less protected one")
    func refused() throws {
        let bytes = try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary)
        try bytes.write(to: file)
        let classes = ProtectionClasses(failure: EPERM)
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
        var calls = ProtectionClasses().calls
        // The list is not so new that it has to be read again.
        calls.now = { Date() + 60 }
        calls.openDescriptor = { [file] path, flags, mode throws(SystemError) in
            if path.path == file.path, isLocked.withLock({ $0 }) { throw SystemError(EPERM) }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        let backend = PropertyListFile(at: file, calls: calls)
        _ = try backend.load()
        isLocked.withLock { $0 = true }
        #expect {
            try backend.edit { $0["count"] = 2 }
        } throws: { "\($0)".contains("opening the present file") }
        #expect(try Data(contentsOf: file) == bytes)
    }
}
