import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Reading a file", .timeLimit(.minutes(10))) struct AtomicFileReadingTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test("A file is read completely, with its identity", arguments: [0, 1, 4_096, 300_001])
    func whole(_ size: Int) throws {
        let bytes = Data((0..<size).map { UInt8(truncatingIfNeeded: $0) })
        try bytes.write(to: folder.file("list"))
        let content = try #require(try FileSystemCalls.live.readFile(at: folder.path("list")))
        #expect(content.bytes == bytes)
        #expect(try content.identity == FileIdentity(path: folder.path("list")))
    }

    @Test("Reading a missing file returns nil")
    func missing() throws {
        try folder.make("file")
        try folder.link("dangling", to: "nowhere")
        for name in ["none", "none/none", "file/none", "dangling"] {
            #expect(try FileSystemCalls.live.readFile(at: folder.path(name)) == nil)
        }
    }

    @Test("Anything but a regular file is rejected immediately, also as the target of a link")
    func otherKinds() throws {
        try folder.link("link", to: try folder.makePipe("pipe"))
        try folder.makeFolder("folder")
        try folder.makeSocket("socket")
        let reasons = [
            "pipe": "is a named pipe, not a file", "link": "is a named pipe, not a file", "folder": "is a folder, not a file",
            "socket": "is a socket, not a file",
        ]
        for (name, reason) in reasons {
            let path = folder.path(name)
            #expect(throws: StorageError.unreadable(file: path, reason: reason)) { try FileSystemCalls.live.readFile(at: path) }
        }
        #expect(throws: StorageError.unreadable(file: "/dev/zero", reason: "is a device, not a file")) {
            try FileSystemCalls.live.readFile(at: "/dev/zero")
        }
    }

    @Test("Circular links are an error")
    func circle() throws {
        let path = try folder.link("a", to: "b")
        try folder.link("b", to: "a")
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ELOOP).reason)) {
            try FileSystemCalls.live.readFile(at: path)
        }
    }

    @Test("A path with a NUL byte is not truncated there")
    func zeroByte() throws {
        let path = try folder.make("list")
        #expect(throws: StorageError.unreadable(file: path + "\0x", reason: SystemError(EINVAL).reason)) {
            try FileSystemCalls.live.readFile(at: path + "\0x")
        }
    }

    @Test("A file larger than the maximum is not read")
    func tooLarge() throws {
        let path = try folder.make("list")
        try #require(truncate(path, off_t(FileSystemCalls.largestFileSize) + 1) == 0)
        let recorder = CallRecorder()
        #expect(throws: StorageError.unreadable(file: path, reason: "it has 1073741825 bytes; 1073741824 are read at most")) {
            try recorder.calls.readFile(at: path)
        }
        #expect(!recorder.names.contains("read"))
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A file that changes while it is read is read again")
    func changing() throws {
        let path = try folder.make("list", "short")
        let changes = Lock(3)
        var calls = FileSystemCalls.live
        calls.pause = { _ in }
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            let count = try FileSystemCalls.live.readBytes(descriptor, buffer)
            if changes.withLock({ changes in
                changes -= 1
                return changes >= 0
            }) {
                append("er", to: path)
            }
            return count
        }
        let content = try #require(try calls.readFile(at: path))
        #expect(content.bytes == Data("shortererer".utf8))
        #expect(try content.identity == FileIdentity(path: path))
    }

    @Test("A file that another machine replaces while it is read is read again", arguments: ["statusOfDescriptor", "read"])
    func stale(call: String) throws {
        try folder.make("list", "content")
        let isStale = Lock(true)
        let recorder = CallRecorder { _, name in name == call && isStale.exchange(false) ? ESTALE : nil }
        let content = try recorder.calls.readFile(at: ResolvedPath("list", in: folder.url.path))
        #expect(content?.bytes == Data("content".utf8))
        #expect(!isStale.withLock { $0 } && recorder.openDescriptors.isEmpty)
    }

    @Test("A file that is stale whenever it is read is an error that says so", arguments: ["statusOfDescriptor", "read"])
    func staleForever(call: String) throws {
        let path = try folder.make("list", "content")
        let recorder = CallRecorder { _, name in name == call ? ESTALE : nil }
        #expect(throws: StorageError.unreadable(file: path, reason: SystemError(ESTALE).reason)) {
            try recorder.calls.readFile(at: ResolvedPath("list", in: folder.url.path))
        }
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A file that keeps growing is an error, and is not read further than its first size")
    func growing() throws {
        let path = try folder.make("list", "short")
        let largest = Lock(0)
        let pauses = Lock(0)
        var calls = FileSystemCalls.live
        calls.pause = { _ in pauses.withLock { $0 += 1 } }
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            append("er", to: path)
            largest.withLock { $0 = max($0, buffer.count) }
            return try FileSystemCalls.live.readBytes(descriptor, buffer)
        }
        #expect(throws: StorageError.unreadable(file: path, reason: "it keeps changing while it is read")) {
            try calls.readFile(at: path)
        }
        #expect(pauses.withLock { $0 } == 19)
        #expect(largest.withLock { $0 } < 100)
    }

    @Test("A file whose times change all the time is read, also a large one")
    func touched() throws {
        let path = try folder.make("list", "a content")
        let pauses = Lock(0)
        var calls = FileSystemCalls.live
        calls.pause = { _ in pauses.withLock { $0 += 1 } }
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            Disk.touch(path)
            return try FileSystemCalls.live.readBytes(descriptor, buffer)
        }
        let content = try #require(try calls.readFile(at: path))
        #expect(content.bytes == Data("a content".utf8))
        #expect(pauses.withLock { $0 } == 1)
        // A write in place after it was read is not overlooked.
        #expect(try content.identity != FileIdentity(path: path))
    }

    @Test("A file that is overwritten all the time, with as many bytes, is an error")
    func overwritten() throws {
        let path = try folder.make("list", "0")
        let number = Lock(0)
        var calls = FileSystemCalls.withoutPauses
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            let count = try FileSystemCalls.live.readBytes(descriptor, buffer)
            let next = number.withLock { number in
                number += 1
                return number
            }
            if count > 0 { Disk.overwrite(path, "\(next % 7)") }
            return count
        }
        #expect(throws: StorageError.unreadable(file: path, reason: "it keeps changing while it is read")) {
            try calls.readFile(at: path)
        }
    }

    @Test("A file with more content than its reported size is not read in part")
    func largerThanTold() throws {
        let path = try folder.make("list", "a content")
        var calls = FileSystemCalls.live
        calls.pause = { _ in }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            var status = stat()
            guard fstat(descriptor, &status) == 0 else { throw SystemError(errno) }
            status.st_size -= 2
            return FileStatus(status)
        }
        #expect(throws: StorageError.unreadable(file: path, reason: "it keeps changing while it is read")) {
            try calls.readFile(at: path)
        }
    }

    @Test("Partial and interrupted reads have no effect")
    func shortReads() throws {
        let path = try folder.make("list", "a longer content")
        let recorder = CallRecorder { index, _ in index.isMultiple(of: 2) ? EINTR : nil }
        var calls = recorder.calls
        let read = calls.readBytes
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            try read(descriptor, UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(3)))
        }
        #expect(try calls.readFile(at: path)?.bytes == Data("a longer content".utf8))
        #expect(recorder.names.filter { $0 == "read" }.count > 6)
    }

    @Test("Each failing call is an error that names the file, and leaves nothing open")
    func failures() throws {
        let path = try folder.make("list")
        var index = 0
        var failed: [String] = []
        while index < 100 {
            let failing = index
            let recorder = CallRecorder { index, _ in index == failing ? EIO : nil }
            do {
                #expect(try recorder.calls.readFile(at: path)?.bytes == Data("old".utf8))
            } catch {
                #expect(error == .unreadable(file: path, reason: SystemError(EIO).reason))
                failed.append(recorder.names[failing])
            }
            #expect(recorder.openDescriptors.isEmpty)
            guard recorder.names.count > index else { break }
            index += 1
        }
        #expect(failed == ["open", "statusOfDescriptor", "read", "statusOfDescriptor"])
    }
}

private func append(_ text: String, to path: String) {
    let file = fopen(path, "a")
    fputs(text, file)
    fclose(file)
}

extension TemporaryFolder {
    fileprivate func makeSocket(_ name: String) throws {
        // A socket's path must fit into 108 bytes, so it is created by its name.
        let script = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(socket.AF_UNIX).bind(sys.argv[2])"
        let made = try Subprocess.run("python3", ["-c", script, url.path, name])
        try #require(made.status == 0, "\(made.errors)")
    }
}
