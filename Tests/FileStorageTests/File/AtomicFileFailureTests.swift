import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

private let new = Data("new".utf8)

/// The target of a write, and its previous content.
enum WritingSituation: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case existing, missing, missingFolders, link, danglingLink

    var testDescription: String { rawValue }

    /// Prepares it; returns the path to write to, and the name of the file that it leads to.
    func prepare(in folder: TemporaryFolder) throws -> (path: String, target: String) {
        switch self {
        case .existing: (try folder.make("list", permissions: 0o666), "list")
        case .missing: (folder.path("list"), "list")
        case .missingFolders: (folder.path("a/b/list"), "a/b/list")
        case .link:
            (try folder.link("link", to: try folder.make("list", permissions: 0o666)), "list")
        case .danglingLink: (try folder.link("link", to: "a/list"), "a/list")
        }
    }

    var hasOld: Bool { self == .existing || self == .link }
    var hasLink: Bool { self == .link || self == .danglingLink }
}

@Suite("Writing when a system call fails", .timeLimit(.minutes(10))) struct AtomicFileFailureTests {
    /// The names of all files below a folder.
    private func files(in folder: TemporaryFolder) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).filter { try folder.status($0).kind == .file }
    }

    /// Writes while the call at an index fails; returns the call's name and the outcome, or nil if there is no such call.
    private func write(
        _ situation: WritingSituation, failing index: Int, code: Int32
    ) throws -> (call: String, before: [String], error: StorageError?)? {
        let folder = try TemporaryFolder()
        let (path, target) = try situation.prepare(in: folder)
        let place = try ResolvedPath(path)
        let recorder = CallRecorder { $0 == index && $1 != "setOwner" ? code : nil }
        var failure: StorageError?
        do {
            _ = try recorder.calls.write(new, to: place)
        } catch {
            failure = error
        }
        let names = recorder.names
        #expect(recorder.openDescriptors.isEmpty, "\(names)")
        guard names.count > index else {
            #expect(failure == nil)
            return nil
        }
        let renamed = names.prefix(index).contains("rename")
        if failure == nil || renamed {
            #expect(try files(in: folder) == [target], "\(names)")
            #expect(try folder.text(target) == "new")
        } else {
            #expect(try files(in: folder) == (situation.hasOld ? [target] : []), "\(names)")
            #expect(try !situation.hasOld || folder.text(target) == "old")
        }
        if situation.hasOld {
            #expect(try folder.status(target).permissions == 0o666)
        }
        if let failure {
            guard case .unwritable(place.path, let reason, _) = failure else {
                Issue.record("\(failure)")
                return nil
            }
            #expect(reason.hasPrefix(SystemError(code).reason))
        }
        return (names[index], Array(names.prefix(index)), failure)
    }

    @Test(
        "Each failing call leaves the old content and no temporary file, and throws an error that names the file",
        arguments: WritingSituation.allCases, [ENOSPC, EIO])
    func eachCall(_ situation: WritingSituation, code: Int32) throws {
        var (thrown, survived): ([String], [String]) = ([], [])
        for index in 0..<200 {
            guard let (call, before, error) = try write(situation, failing: index, code: code) else { break }
            if error != nil {
                thrown.append(call)
            } else {
                // Checking the file after it is durable, closing, the old file, and calls that only save a later check do not fail a write.
                let isAfterwards = before.contains("rename") && call == "statusOfDescriptor"
                let isOldFile = call == "open" && situation.hasOld && before.last == "open"
                let isLookSaved = call == "setModificationTime" || (call == "statusOfDescriptor" && before.last == "write")
                let mayFail = ["close", "lock", "unlock", "readAccessControlList"].contains(call)
                #expect(isAfterwards || isOldFile || isLookSaved || mayFail, "\(call) after \(before)")
                survived.append(call)
            }
        }
        for call in ["statusOfPath", "open", "statusOfDescriptor", "write", "synchronize", "rename"] {
            #expect(thrown.contains(call), "\(call)")
        }
        #expect(thrown.contains("setPermissions") == situation.hasOld)
        #expect(thrown.contains("makeFolder") == (situation == .missingFolders || situation == .danglingLink))
        #expect(survived.count >= 2)
    }

    @Test("A call interrupted by a signal is repeated", arguments: WritingSituation.allCases)
    func interrupted(_ situation: WritingSituation) throws {
        var calls = 0
        while let (call, _, error) = try write(situation, failing: calls, code: EINTR) {
            #expect(error == nil, "\(call)")
            calls += 1
        }
        #expect(calls > 10)
    }

    @Test("The content is on disk before the rename, its name and new folders when writing returns")
    func synchronized() throws {
        let folder = try TemporaryFolder()
        let steps = Lock<[String]>([])
        var calls = FileSystemCalls.live
        calls.synchronize = { descriptor throws(SystemError) in
            let inode = try FileSystemCalls.live.statusOfDescriptor(descriptor).identity.inode
            steps.withLock { $0.append("synchronize \(inode)") }
        }
        calls.renameFile = { from, to throws(SystemError) in
            steps.withLock { $0.append("rename") }
            try FileSystemCalls.live.renameFile(from, to)
        }
        _ = try calls.write(new, to: folder.path("a/b/list"))
        let inodes = try ["a/..", "a", "a/b/list", "a/b"].map { "synchronize \(try folder.status($0).identity.inode)" }
        #expect(steps.withLock { $0 } == inodes[...2] + ["rename", inodes[3]])
    }

    @Test("If only synchronizing the folder fails, the error states that the new content is in place")
    func folder() throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let synchronized = CallRecorder()
        var calls = synchronized.calls
        let synchronize = calls.synchronize
        calls.synchronize = { descriptor throws(SystemError) in
            try synchronize(descriptor)
            if synchronized.names.contains("rename") {
                throw SystemError(EIO)
            }
        }
        let error = #expect(throws: StorageError.self) { try calls.write(new, to: path) }
        #expect(error?.description.contains("has its new content, which may not outlive a power failure") == true)
        #expect(try folder.text("list") == "new")
    }

    @Test("A file system that cannot synchronize folders can be written to", arguments: [EINVAL, ENOTSUP])
    func unsupported(_ code: Int32) throws {
        let folder = try TemporaryFolder()
        let recorder = CallRecorder()
        var calls = recorder.calls
        let synchronize = calls.synchronize
        calls.synchronize = { descriptor throws(SystemError) in
            guard try FileSystemCalls.live.statusOfDescriptor(descriptor).kind == .folder else { return try synchronize(descriptor) }
            throw SystemError(code)
        }
        _ = try calls.write(new, to: folder.path("a/list"))
        #expect(try folder.text("a/list") == "new")
    }

    @Test(
        "An error describes the failed operation in plain words",
        arguments: [(ENOSPC, "No space left on device"), (EROFS, "Read-only file system"), (EACCES, "Permission denied")])
    func words(_ code: Int32, _ words: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let recorder = CallRecorder { _, name in name == "write" ? code : nil }
        let expected = StorageError.unwritable(file: path, reason: "\(words) (writing the temporary file)")
        #expect(throws: expected) { try recorder.calls.write(new, to: path) }
        #expect(expected.description.hasPrefix("\(path): cannot be written: \(words)"))
    }

    @Test("A temporary file that could not be removed is removed by a later write")
    func twoFailures() throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let recorder = CallRecorder { _, name in name == "write" || name == "remove" ? ENOSPC : nil }
        #expect(throws: StorageError.self) { try recorder.calls.write(new, to: path) }
        #expect(try folder.names().count == 2)
        // A child that another test has just forked may hold its lock for a moment.
        let limit = ContinuousClock.now + .seconds(50)
        repeat {
            try FileSystemCalls.live.removeLeftovers(of: ResolvedPath(path))
        } while try folder.names() != ["list"] && .now < limit
        #expect(try folder.names() == ["list"])
    }
}
