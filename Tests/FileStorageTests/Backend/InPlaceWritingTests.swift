import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Files that cannot be replaced, such as single files mounted in containers.
@Suite("Writing in place", .timeLimit(.minutes(10)), .namingSeed)
struct InPlaceWritingTests {
    private let folder: TemporaryFolder
    private let file: URL
    private let big = PropertyListValue.string(String(repeating: "x", count: 300))

    init() throws {
        folder = try .inMemory()
        file = folder.file("list")
        try PropertyListValue.dictionary(["count": 1, "big": big]).encoded(as: .binary).write(to: file)
    }

    /// System calls that report the file as a mount point.
    private func mounted(_ calls: FileSystemCalls = .live) -> FileSystemCalls {
        let rename = calls.renameFile
        var calls = calls
        calls.renameFile = { [path = file.path] from, to throws(SystemError) in
            guard to.path != path else { throw SystemError(EBUSY) }
            try rename(from, to)
        }
        return calls
    }

    private func list(_ inPlace: InPlaceWriting, calls: FileSystemCalls = .live) -> PropertyListFile {
        PropertyListFile(at: file, configuration: .with { $0.inPlaceWriting = inPlace }, calls: mounted(calls))
    }

    private func stored() throws -> [String: PropertyListValue] {
        try PropertyListFile(at: file).load().values
    }

    @Test("Without permission to write in place, the error names the remedy and nothing is changed")
    func refused() throws {
        let before = try Data(contentsOf: file)
        let error = #expect(throws: StorageError.self) { try list(.never).edit { $0["count"] = 2 } }
        #expect(error?.description.contains("inPlaceWriting: .whenNecessary()") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: file) == before)
        #expect(try folder.names() == [".list.lock", "list"])
    }

    @Test("The file keeps its inode, has exactly the new content, and no other file is left")
    func written() throws {
        let inode = try folder.status("list").identity.inode
        let list = list(.whenNecessary())
        #expect(try list.edit { $0["big"] = nil }.values == ["count": 1])
        #expect(try list.edit { $0["count"] = 2 }.values == ["count": 2])
        #expect(try stored() == ["count": 2])
        #expect(try folder.status("list").identity.inode == inode)
        #expect(try folder.names() == [".list.lock", "list"])
    }

    @Test("A file that can be replaced is replaced")
    func replaced() throws {
        let inode = try folder.status("list").identity.inode
        _ = try PropertyListFile(at: file, configuration: .with { $0.inPlaceWriting = .whenNecessary() }).edit { $0["count"] = 2 }
        #expect(try folder.status("list").identity.inode != inode)
    }

    @Test(
        "After a writer dies in any call, the next process that opens the file finds the old or the new content", arguments: [false, true])
    func death(isElsewhere: Bool) throws {
        var outcomes: Set<PropertyListValue> = []
        let copies = isElsewhere ? folder.path("copies") : folder.url.path
        let inPlace: InPlaceWriting = isElsewhere ? .whenNecessary(copyIn: folder.file("copies")) : .whenNecessary()
        /// Returns the names of the calls.
        func attempt(failing: Int) throws -> [String] {
            try PropertyListValue.dictionary(["count": 1, "big": big]).encoded(as: .binary).write(to: file)
            let plan = FaultPlan()
            let dying = list(inPlace, calls: plan.calls)
            _ = try dying.load()
            plan.begin { index, _ in index >= failing ? EIO : nil }
            var (isDone, isUnchanged) = (false, false)
            do {
                _ = try dying.edit { $0["count"] = 2 }
                isDone = true
            } catch let error as StorageError {
                #expect(String(describing: error).contains(file.path))
                isUnchanged = error.with(.rolledBack).description.hasSuffix("; nothing was changed")
            }
            let calls = plan.end()
            let next = list(inPlace)
            let found = try next.load().values
            #expect(found["big"] == big && (!isDone || found["count"] == 2) && (!isUnchanged || found["count"] == 1))
            outcomes.insert(found["count"] ?? 0)
            #expect(try stored() == found)
            #expect(try next.edit { $0["more"] = true }["count"] == found["count"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: copies).allSatisfy { !$0.hasSuffix(".copy") })
            if calls.count <= failing { #expect(isDone) }
            return calls
        }
        for failing in CallRecorder.visitedCalls(try attempt(failing: .max)) { _ = try attempt(failing: failing) }
        #expect(outcomes == [1, 2])
        #expect(try folder.names() == [".list.lock"] + (isElsewhere ? ["copies"] : []) + ["list"])
    }

    @Test("If the new content does not fit, the file keeps the old one, and no copy is left that could not be restored either")
    func full() throws {
        let before = try Data(contentsOf: file)
        var calls = FileSystemCalls.live
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            let room = before.count + 10 - offset
            guard room > 0 else { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(room)), offset)
        }
        let full = PropertyListFile(
            at: file, configuration: .with { ($0.inPlaceWriting, $0.journal) = (.whenNecessary(), .off) }, calls: mounted(calls))
        let error = #expect(throws: StorageError.self) { try full.edit { $0["more"] = big } }
        #expect(error?.description.contains("No space left on device (writing into the file)") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: file) == before)
        #expect(try folder.names() == [".list.lock", "list"])
        #expect(try full.edit { $0["big"] = nil }.values == ["count": 1])
        #expect(try stored() == ["count": 1])
    }

    @Test("The previous content that was written back is told, also if removing the copy is not known to be durable")
    func uncertainRemoval() throws {
        let before = try Data(contentsOf: file)
        let folderInode = try FileIdentity(path: folder.url.path)?.inode
        let isRemoved = Lock(false)
        var calls = FileSystemCalls.live
        calls.closeWaiting = { false }
        let isFull = Lock(true)
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFull.exchange(false) { throw SystemError(ENOSPC) }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        calls.removeFile = { path throws(SystemError) in
            try FileSystemCalls.live.removeFile(path)
            if path.name == ".list.copy" { isRemoved.exchange(true) }
        }
        calls.synchronize = { descriptor throws(SystemError) in
            let inode = try FileSystemCalls.live.status(of: descriptor).identity.inode
            if inode == folderInode, isRemoved.exchange(false) { throw SystemError(EIO) }
            try FileSystemCalls.live.synchronize(descriptor)
        }
        let list = list(.whenNecessary(), calls: calls)
        let error = #expect(throws: StorageError.self) { try list.edit { $0["count"] = 2 } }
        #expect(error?.description.contains("No space left on device (writing into the file)") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: file) == before)
        #expect(try list.load().values["count"] == 1)
    }

    @Test("Content is on the medium before the copy is removed, whether it is new, restored, or the old one after a failure")
    func durableSteps() throws {
        let steps = Lock<[String]>([])
        let isFull = Lock(false)
        let (inode, folderInode) = (try folder.status("list").identity.inode, try FileIdentity(path: folder.url.path)?.inode)
        var calls = FileSystemCalls.live
        // Otherwise the failing write is repeated.
        calls.closeWaiting = { false }
        calls.writeBytesAt = { descriptor, bytes, offset throws(SystemError) in
            if isFull.exchange(false) { throw SystemError(ENOSPC) }
            steps.withLock { $0.append("write") }
            return try FileSystemCalls.live.writeBytesAt(descriptor, bytes, offset)
        }
        calls.truncate = { descriptor, size throws(SystemError) in
            steps.withLock { $0.append("truncate") }
            try FileSystemCalls.live.truncate(descriptor, size)
        }
        calls.synchronize = { descriptor throws(SystemError) in
            let synchronized = try FileSystemCalls.live.status(of: descriptor).identity.inode
            steps.withLock { $0.append(synchronized == inode ? "list" : synchronized == folderInode ? "folder" : "other") }
            try FileSystemCalls.live.synchronize(descriptor)
        }
        calls.removeFile = { path throws(SystemError) in
            if path.name == ".list.copy" { steps.withLock { $0.append("remove copy") } }
            try FileSystemCalls.live.removeFile(path)
        }
        let list = list(.whenNecessary(), calls: calls)
        let end = ["write", "truncate", "list", "remove copy", "folder"]
        _ = try list.edit { $0["count"] = 2 }
        // The copy is on the medium before the file is written.
        #expect(steps.exchange([]) == ["other", "other", "folder"] + end + ["folder"])
        isFull.exchange(true)
        #expect(throws: StorageError.self) { try list.edit { $0["count"] = 3 } }
        #expect(steps.exchange([]) == ["other", "other", "folder"] + end)
        try Data(contentsOf: file).write(to: folder.file(".list.copy"))
        try #require(chmod(folder.path(".list.copy"), folder.status("list").permissions) == 0)
        #expect(try list.load().values["count"] == 2)
        #expect(steps.exchange([]) == end)
    }

    @Test("A file that others put in place of the copy is not used")
    func plantedCopy() throws {
        try folder.make(".list.copy", "planted", permissions: 0o666)
        for _ in 0..<2 {
            let error = #expect(throws: StorageError.self) { try list(.whenNecessary()).load() }
            #expect(error?.description.contains("does not have its owner and permissions") == true)
            try Disk.remove(folder.path(".list.copy"))
            try folder.make("victim", "precious")
            try folder.link(".list.copy", to: "victim")
        }
        #expect(try folder.text("victim") == "precious")
        #expect(try stored()["count"] == 1)
    }

    /// System calls that put another file in place of one just before that is opened with a flag.
    private func exchanging(_ name: String, openedWith flag: Int32) -> FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.openDescriptor = { [folder] path, flags, mode throws(SystemError) in
            if path.name == name, flags & O_ACCMODE == flag, rename(folder.path("victim"), folder.path(name)) != 0 {
                #expect(errno == ENOENT)
            }
            return try FileSystemCalls.live.openDescriptor(path, flags, mode)
        }
        return calls
    }

    @Test("Nothing is written into a file that others put in place of the list just before it is opened")
    func exchangedList() throws {
        try folder.make("victim", "precious", permissions: try folder.status("list").permissions)
        let exchanged = list(.whenNecessary(), calls: exchanging("list", openedWith: O_WRONLY))
        #expect(throws: StorageError.self) { try exchanged.edit { $0["count"] = 2 } }
        // Nor is it restored there.
        #expect(throws: StorageError.self) { try list(.whenNecessary()).load() }
        #expect(try folder.text("list") == "precious")
        #expect(try !folder.names().contains(".list.copy"))
    }

    @Test("A list is restored neither into another file nor from another copy", arguments: [("list", O_WRONLY), (".list.copy", O_RDONLY)])
    func exchangedWhileRestoring(name: String, flag: Int32) throws {
        let permissions = try folder.status("list").permissions
        try folder.make(".list.copy", "saved", permissions: permissions)
        try folder.make("victim", "precious", permissions: permissions)
        #expect(throws: StorageError.self) { try list(.whenNecessary(), calls: exchanging(name, openedWith: flag)).load() }
        #expect(try folder.text(name) == "precious")
        if name != "list" { #expect(try stored()["count"] == 1) }
    }

    @Test("A list is not restored from the copy of a living writer, as one in another container, which has another lock file")
    func livingWriter() throws {
        let bytes = try PropertyListValue.dictionary(["count": 2]).encoded(as: .binary)
        try bytes.write(to: folder.file(".list.copy"))
        try #require(chmod(folder.path(".list.copy"), folder.status("list").permissions) == 0)
        let writer = open(file.path, O_WRONLY)
        defer { close(writer) }
        try #require(try FileSystemCalls.live.tryLock(writer))
        let isDone = Lock(false)
        var calls = FileSystemCalls.live
        calls.pause = { [folder] _ in
            guard !isDone.exchange(true) else { return }
            do {
                try FileSystemCalls.live.overwrite(writer, with: try PropertyListValue.dictionary(["count": 3]).encoded(as: .binary))
                try Disk.remove(folder.path(".list.copy"))
                try FileSystemCalls.live.unlock(writer)
            } catch {
                Issue.record(error)
            }
        }
        let restored = try list(.whenNecessary(), calls: calls).load().values["count"]
        #expect(isDone.withLock { $0 })
        #expect(restored == 3)
    }

    @Test("A list with several names is not restored: it may be another file that was linked there")
    func linkedList() throws {
        try folder.make(".list.copy", "saved", permissions: try folder.status("list").permissions)
        try #require(link(file.path, folder.path("victim")) == 0)
        let before = try Data(contentsOf: file)
        let error = #expect(throws: StorageError.self) { try list(.whenNecessary()).load() }
        #expect(error?.description.contains("it has 2 names") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: folder.file("victim")) == before)
        #expect(try folder.text(".list.copy") == "saved")
    }
}
