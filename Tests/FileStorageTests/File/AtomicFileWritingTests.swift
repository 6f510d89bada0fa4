import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private let new = Data("new".utf8)

@Suite("Writing a file", .timeLimit(.minutes(10))) struct AtomicFileWritingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("Written content is read back, with the identity that writing returned", arguments: [0, 3, 1_000_000])
    func roundTrip(_ size: Int) throws {
        let bytes = Data(repeating: 7, count: size)
        for _ in 0..<3 {
            let identity = try FileSystemCalls.live.write(bytes, to: folder.path("list"))
            let content = try #require(try FileSystemCalls.live.readFile(at: folder.path("list")))
            #expect(content.bytes == bytes)
            #expect(content.identity == identity)
            #expect(try folder.names() == ["list"])
        }
    }

    @Test("A slice of a larger Data is written correctly")
    func slice() throws {
        _ = try FileSystemCalls.live.write(Data("a new one".utf8)[2..<5], to: folder.path("list"))
        #expect(try folder.text("list") == "new")
    }

    @Test("Each write creates a new file, so a reader of the old one can read it completely")
    func newInode() throws {
        let path = try folder.make("list")
        let reader = try FileHandle(forReadingFrom: folder.file("list"))
        let before = try #require(try FileIdentity(path: path))
        let after = try FileSystemCalls.live.write(new, to: path)
        #expect(before.inode != after.inode)
        #expect(try reader.readToEnd() == Data("old".utf8))
    }

    @Test("Partial and interrupted writes have no effect")
    func shortWrites() throws {
        let bytes = Data((0..<100).map { UInt8($0) })
        let recorder = CallRecorder { index, _ in index.isMultiple(of: 2) ? EINTR : nil }
        var calls = recorder.calls
        let write = calls.writeBytes
        calls.writeBytes = { descriptor, buffer throws(SystemError) in
            try write(descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(7)))
        }
        _ = try calls.write(bytes, to: folder.path("a/b/list"))
        #expect(try FileSystemCalls.live.readFile(at: folder.path("a/b/list"))?.bytes == bytes)
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A write of zero bytes is an error, not an infinite loop")
    func emptyWrites() throws {
        let path = try folder.make("list")
        var calls = FileSystemCalls.live
        calls.writeBytes = { _, _ throws(SystemError) in 0 }
        #expect(throws: StorageError.unwritable(file: path, reason: "\(SystemError(EIO).reason) (writing the temporary file)")) {
            try calls.write(new, to: path)
        }
        #expect(try folder.names() == ["list"])
    }

    @Test("A link created under the name of the temporary file is not followed")
    func plantedLink() throws {
        let path = try folder.make("list")
        try folder.make("victim", "untouched")
        try folder.link(".list.\(getpid())-1.tmp", to: "victim")
        let numbers = Lock<[UInt64]>([2, 1])
        var calls = FileSystemCalls.live
        calls.random = { numbers.withLock { $0.removeLast() } }
        _ = try calls.write(new, to: path)
        #expect(try folder.text("victim") == "untouched")
        #expect(try folder.text("list") == "new")
        #expect(try folder.status("list").kind == .file)
        #expect(numbers.withLock { $0.isEmpty })
    }

    @Test("If every name for the temporary file is taken, writing throws an error")
    func takenNames() throws {
        let path = try folder.make("list")
        _ = try folder.make(".list.\(getpid())-1.tmp", "taken")
        var calls = FileSystemCalls.live
        calls.random = { 1 }
        let reason = "\(SystemError(EEXIST).reason) (making a temporary file in \(folder.url.path))"
        #expect(throws: StorageError.unwritable(file: path, reason: reason)) { try calls.write(new, to: path) }
        #expect(try folder.text(".list.\(getpid())-1.tmp") == "taken")
    }

    @Test("Attempts that fail for the same reason have the same error, which is reported once", arguments: [true, false])
    func sameError(isMaking: Bool) throws {
        let path = try folder.make("list")
        let live = FileSystemCalls.live
        var calls = live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            if isMaking, flags & O_CREAT != 0 { throw SystemError(EACCES) }
            return try live.openDescriptor(path, flags, mode)
        }
        calls.renameFile = { _, _ throws(SystemError) in throw SystemError(EPERM) }
        let errors = try (1...2).map { _ in try #require(#expect(throws: StorageError.self) { try calls.write(new, to: path) }) }
        #expect(errors[0] == errors[1])
    }

    @Test("Anything but a regular file is not replaced, also as the target of a link")
    func otherKinds() throws {
        try folder.makeFolder("folder")
        _ = try folder.makePipe("pipe")
        try folder.link("link", to: "folder")
        let reasons = [
            "folder": "is a folder, not a file", "link": "is a folder, not a file", "pipe": "is a named pipe, not a file",
        ]
        for (name, reason) in reasons {
            let place = try ResolvedPath(folder.path(name))
            #expect(throws: StorageError.unwritable(file: place.path, reason: reason)) { try FileSystemCalls.live.write(new, to: place) }
        }
        #expect(try folder.names() == ["folder", "link", "pipe"])
    }

    @Test("A device is not replaced", .enabled(if: isSuperuser))
    func device() throws {
        // A separate device, because one of the system would be missed.
        let path = folder.path("device")
        try #require(mknod(path, S_IFCHR | 0o600, 0) == 0)
        #expect(throws: StorageError.unwritable(file: path, reason: "is a device, not a file")) {
            try FileSystemCalls.live.write(new, to: path)
        }
        #expect(try folder.status("device").kind == .device)
    }

    @Test("A file in place of a folder is an error that names both")
    func fileAsFolder() throws {
        try folder.make("file")
        let path = folder.path("file/list")
        let reason = "\(SystemError(ENOTDIR).reason) (opening the folder \(folder.path("file")))"
        #expect(throws: StorageError.unwritable(file: path, reason: reason)) { try FileSystemCalls.live.write(new, to: path) }
        #expect(try folder.text("file") == "old")
    }

    @Test("Names of up to 255 bytes can be written, locked and cleaned up", arguments: ["a", "€", "e\u{301}"])
    func longNames(_ letter: String) throws {
        let name = String(repeating: letter, count: 255 / letter.utf8.count)
        let path = folder.path(name)
        _ = try FileSystemCalls.live.write(Data("old".utf8), to: path)
        try FileLock.withLock(for: path, timeout: .zero) {
            _ = try FileSystemCalls.live.write(new, to: path)
            try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(path))
        }
        #expect(try FileSystemCalls.live.readFile(at: path)?.bytes == new)
        #expect(try folder.names().count == 2)
    }

    @Test("A file that another program changes right after the rename does not have the identity that writing returns")
    func changedAtOnce() throws {
        let path = try folder.make("list")
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            try FileSystemCalls.live.renameFile(from, to)
            unlink(path)
            close(open(path, O_CREAT | O_WRONLY, 0o600))
        }
        let identity = try calls.write(new, to: path)
        #expect(identity.size == 3)
        #expect(try FileIdentity(path: path) != identity)
    }

    @Test("An in-place write right after the rename, with the same size and clock tick, changes the identity")
    func changedWithinTick() throws {
        let path = try folder.make("list")
        for number in 0..<200 {
            var calls = FileSystemCalls.live
            calls.renameFile = { from, to throws(SystemError) in
                try FileSystemCalls.live.renameFile(from, to)
                let descriptor = open(path, O_WRONLY)
                guard pwrite(descriptor, "\(100 + number % 2)", 3, 0) == 3 else { throw SystemError(errno) }
                close(descriptor)
            }
            // Nothing waits for a disk, so that everything happens within a tick.
            calls.synchronize = { _ throws(SystemError) in }
            let identity = try calls.write(new, to: path)
            #expect(try FileIdentity(path: path) != identity)
        }
    }

    @Test("A file that was changed or replaced since it was read is not replaced", arguments: [true, false])
    func outrun(isPrepared: Bool) throws {
        let path = try folder.make("list")
        let base = try FileIdentity(path: path)
        if !isPrepared { try Disk.replace(path, "theirs") }
        let replacement = try FileSystemCalls.live.prepareReplacement(of: ResolvedPath(path), with: new, over: base)
        #expect((replacement != nil) == isPrepared)
        if let replacement {
            try Disk.replace(path, "theirs")
            #expect(try !replacement.replace())
            replacement.discard()
        }
        #expect(try folder.text("list") == "theirs")
        #expect(try folder.names() == ["list"])
    }

    @Test("A temporary file in use is not a leftover, and one removed as a leftover before it was locked is created again")
    func leftovers() throws {
        let path = try folder.make("list")
        let target = try ResolvedPath(path)
        let replacement = try #require(try FileSystemCalls.live.prepareReplacement(of: target, with: new, over: FileIdentity(path: path)))
        FileSystemCalls.live.removeLeftovers(of: target)
        #expect(try folder.names().count == 2)
        replacement.discard()
        #expect(try folder.names() == ["list"])

        let sweeps = Lock(0)
        var calls = FileSystemCalls.live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            let descriptor = try FileSystemCalls.live.openDescriptor(path, flags, mode)
            if path.path.hasSuffix(".tmp"),
                sweeps.withLock({
                    $0 += 1; return $0 < 4
                })
            {
                FileSystemCalls.live.removeLeftovers(of: target)
            }
            return descriptor
        }
        _ = try calls.write(new, to: path)
        #expect(sweeps.withLock { $0 } == 4)
        #expect(try folder.text("list") == "new")
        #expect(try folder.names() == ["list"])
    }

    @Test("A leftover stays locked until it is removed, so that a writer that has just created it does not go on with it")
    func lockedLeftover() throws {
        let path = try folder.make("list")
        let target = try ResolvedPath(path)
        let leftover = target.temporaryFile(process: getpid(), random: 1).path
        try folder.make(ResolvedPath(leftover).name)
        let couldLock = Lock<Bool?>(nil)
        var calls = FileSystemCalls.live
        calls.removeFile = { path throws(SystemError) in
            let writer = open(path.path, O_RDONLY | O_CLOEXEC)
            couldLock.withLock { $0 = flock(writer, LOCK_EX | LOCK_NB) == 0 }
            close(writer)
            try FileSystemCalls.live.removeFile(path)
        }
        #expect(calls.removeLeftovers(of: target))
        #expect(couldLock.withLock { $0 } == false)
        #expect(try folder.names() == ["list"])
    }

    @Test("No temporary file is created where files can only be added", .enabled(if: isSuperuser && canAppendOnly))
    func appendOnly() throws {
        let path = try folder.make("list")
        try #require(try Subprocess.run("chattr", ["+a", folder.url.path]).status == 0)
        defer { _ = try? Subprocess.run("chattr", ["-a", folder.url.path]) }
        let reason = "the folder \(folder.url.path) is append-only, so that nothing in it can be replaced"
        for _ in 0..<2 {
            #expect(throws: StorageError.unwritable(file: path, reason: "\(SystemError(EPERM).reason) (\(reason))")) {
                try FileSystemCalls.live.write(new, to: path)
            }
        }
        #expect(try folder.names() == ["list"])
    }
}

/// Whether the file system of the temporary folder supports these attributes.
private let canAppendOnly: Bool = {
    do {
        let folder = try TemporaryFolder()
        defer { _ = try? Subprocess.run("chattr", ["-a", folder.url.path]) }
        return try Subprocess.run("chattr", ["+a", folder.url.path]).status == 0
    } catch {
        return false
    }
}()
