import Foundation
import ObservableStorage
import TestSupport
import Testing

/// File systems, permissions and limits under which a property list cannot be read or written.
@Suite("Environments that forbid writing", .timeLimit(.minutes(10)))
struct HostilePlaceTests {
    static let hasMounts = canStart("unshare", "-m", "true")
    static let nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    // The tests may have been built in a folder that only its owner can read.
    static let hasNobody = canStart("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "test", "-x", peer)
    private static let peer = Subprocess.executable("Peer").path

    private let folder: TemporaryFolder
    private let path: String

    init() throws {
        folder = try TemporaryFolder()
        path = folder.path("settings.plist")
    }

    private func failure(_ reason: String) -> String {
        "failed: \(path): cannot be written: \(reason); the edits are kept in memory and tried again"
    }

    /// The answers of a store that temporarily has too little space.
    private func expectFull(_ session: PeerSession, _ reason: String) async throws {
        // The files are listed last: until then a further attempt may be running.
        let lines = [
            "open", "set small 1000", "flush", "set big 200000", "flush", "keys", "stored", "remove big", "flush", "stored", "files",
        ]
        let answers = try await session.answers(to: lines)
        let files = ".settings.plist.lock settings.plist"
        #expect(
            answers == [
                "done", "done", "done", "done", failure("\(reason) (writing the temporary file)"), "big small", "small", "done",
                "done", "small", files,
            ])
    }

    @Test("A full disk is reported, the old content is kept, and writing succeeds again once there is space", .enabled(if: hasMounts))
    func fullDisk() async throws {
        try await expectFull(
            PeerSession(path, after: "mount -t tmpfs -o size=64k none \"$FOLDER\"", by: ["unshare", "-m"]), "No space left on device")
    }

    @Test("The space of recently replaced files is available to the next one", .enabled(if: hasMounts))
    func roomOfReplacedFiles() async throws {
        let session = PeerSession(path, after: "mount -t tmpfs -o size=64k none \"$FOLDER\"", by: ["unshare", "-m"])
        let lines = (0..<20).flatMap { ["set big \(12_000 + $0)", "flush"] }
        #expect(try await session.answers(to: ["open"] + lines).filter { $0 != "done" } == [])
    }

    @Test("A file size limit is reported")
    func sizeLimit() async throws {
        try await expectFull(PeerSession(path, after: "trap '' XFSZ; ulimit -f 64"), "File too large")
    }

    @Test("A file size limit below the size of a log does not end a process that sets a value on its main thread")
    func sizeLimitOfLog() async throws {
        // Threads of Dispatch block the signal, and so do the programs that they start.
        let start = """
            import os, resource, signal, sys
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, [])
            resource.setrlimit(resource.RLIMIT_FSIZE, (32768, 32768))
            os.execv(sys.argv[1], [sys.argv[1], "set", sys.argv[2], "key", "value"])
            """
        let ended = try await Subprocess.finished("python3", ["-c", start, Self.peer, path])
        #expect(ended.status == 0 && ended.errors.isEmpty, "\(ended.errors)")
        try await #expect(PeerSession(path).answers(to: ["stored"]) == ["key"])
    }

    @Test("A read-only file system can be read, and not written, even by the superuser", .enabled(if: hasMounts))
    func readOnlyMount() async throws {
        let mount = "mount -t tmpfs none \"$FOLDER\" && \"$0\" set \"$1\" key value && mount -o remount,ro \"$FOLDER\""
        let answers = try await PeerSession(path, after: mount, by: ["unshare", "-m"]).answers(to: [
            "open", "keys", "set more 1", "flush", "keys",
        ])
        #expect(answers == ["done", "key", "done", failure("Read-only file system (the file may not be written)"), "key more"])
    }

    @Test(
        "A file that is a mount point is written in place if permitted, and is otherwise an error that names the remedy",
        .enabled(if: hasMounts), arguments: ["open", "open-journaling"])
    func mountedFile(opening: String) async throws {
        let mount = "\"$0\" set \"$FOLDER/real\" key value && touch \"$1\" && mount --bind \"$FOLDER/real\" \"$1\""
        let lines = [opening, "update more 1", "open-in-place", "update other 5", "flush", "stored", "files"]
        let answers = try await PeerSession(path, after: mount, by: ["unshare", "-m"]).answers(to: lines)
        #expect(answers.count == 7)
        #expect(answers[1].contains("mounted itself") && answers[1].contains("inPlaceWriting: .whenNecessary()"), "\(answers)")
        #expect(answers[2...] == ["done", "done", "done", "key other", ".real.lock .settings.plist.lock real settings.plist"])
        try await #expect(PeerSession(folder.path("real")).answers(to: ["stored"]) == ["key other"])
    }

    @Test("Another user's file without read access is reported", .enabled(if: hasNobody))
    func unreadable() async throws {
        try await #expect(PeerSession(path).answers(to: ["open", "update key 1"]) == ["done", "done"])
        try #require(chmod(folder.url.path, 0o755) == 0)
        let answers = try await PeerSession(path, by: Self.nobody).answers(to: ["open"])
        #expect(answers == ["failed: \(path): cannot be read: Permission denied"])
    }

    @Test("Who may read a list reads it although its journal is accessible to its owner only", .enabled(if: hasNobody))
    func deniedJournal() async throws {
        let store = try ObservableStore(at: folder.file("settings.plist"), journal: .full())
        store[StorageKey("key", default: 0)] = 1
        try await store.close()
        try #require(FileManager.default.fileExists(atPath: folder.path(".settings.plist.journal")))
        try #require(chmod(path, 0o644) == 0 && chmod(folder.url.path, 0o755) == 0)
        let answers = try await PeerSession(path, by: Self.nobody).answers(to: ["open", "keys", "set more 1", "flush"])
        #expect(answers.prefix(3) == ["done", "key", "done"], "\(answers)")
        #expect(answers.last?.contains("Permission denied") == true, "\(answers)")
    }

    @Test("A malformed list stays in place if edits in a journal that its user cannot open would be lost", .enabled(if: hasNobody))
    func quarantineBesideDeniedJournal() async throws {
        let list = PropertyListFile(at: folder.file("settings.plist"), journal: .full())
        _ = try list.editList { $0["other"] = 1 }
        _ = try list.edit { $0["key"] = 1 }
        try Data("damaged".utf8).write(to: folder.file("settings.plist"))
        try #require(chmod(path, 0o644) == 0 && chmod(folder.url.path, 0o777) == 0)
        try FileManager.default.removeItem(atPath: folder.path(".settings.plist.lock"))
        let refused = try await PeerSession(path, by: Self.nobody).answers(to: ["open-quarantining"])
        let reason = "the edits in its journal \(folder.path(".settings.plist.journal")), which belongs to user 0, would be lost"
        #expect(refused.count == 1 && refused[0].contains(reason), "\(refused)")
        // A lock file of another user does not count for the superuser.
        try #require(chmod(folder.url.path, 0o755) == 0)
        try FileManager.default.removeItem(atPath: folder.path(".settings.plist.lock"))
        try await #expect(PeerSession(path).answers(to: ["open-quarantining", "keys"]) == ["done", "key"])
    }

    @Test("A file that can be read but not written is not replaced, whatever the access to its folder", .enabled(if: hasNobody))
    func notOurs() async throws {
        try await #expect(PeerSession(path).answers(to: ["open", "update key 1"]) == ["done", "done"])
        let before = try Data(contentsOf: folder.file("settings.plist"))
        try #require(chmod(path, 0o644) == 0 && chmod(folder.url.path, 0o777) == 0)
        try FileManager.default.removeItem(atPath: folder.path(".settings.plist.lock"))
        let answers = try await PeerSession(path, by: Self.nobody).answers(to: ["open", "keys", "set more 1", "flush", "keys"])
        #expect(answers == ["done", "key", "done", failure("Permission denied (the file may not be written)"), "key more"])
        #expect(try Data(contentsOf: folder.file("settings.plist")) == before)
    }

    @Test("A folder without write access is reported", .enabled(if: hasNobody))
    func readOnlyFolder() async throws {
        try #require(chmod(folder.url.path, 0o755) == 0)
        let answers = try await PeerSession(path, by: Self.nobody).answers(to: ["open", "set more 1", "flush", "keys"])
        let failure = "failed: \(path): cannot be written: Permission denied (making a temporary file in \(folder.url.path)"
        #expect(answers.count == 4 && answers[2].hasPrefix(failure), "\(answers)")
        #expect(answers.last == "more")
    }

    @Test(
        "A superuser's file that was put in place of the lock file does not change its owner",
        .enabled(if: hasNobody && geteuid() == 0), arguments: [false, true])
    func plantedLock(isLink: Bool) async throws {
        try await #expect(PeerSession(path).answers(to: ["open", "update key 1"]) == ["done", "done"])
        let lock = folder.path(".settings.plist.lock")
        try #require(chown(folder.url.path, 65534, 65534) == 0 && chown(path, 65534, 65534) == 0 && chmod(path, 0o622) == 0)
        try FileManager.default.removeItem(atPath: lock)
        let secret = isLink ? folder.path("secret") : lock
        try Data("secret".utf8).write(to: URL(fileURLWithPath: secret))
        try #require(chmod(secret, 0o600) == 0 && (!isLink || link(secret, lock) == 0))
        let answers = try await PeerSession(path).answers(to: ["open", "set more 1", "flush"])
        let reason = "it is not empty, so it may be another file that was moved there; move it away"
        #expect(answers == ["done", "done", failure("its lock file \(lock) cannot be used: \(reason)")])
        var status = stat()
        #expect(lstat(lock, &status) == 0 && status.st_uid == 0 && status.st_mode & 0o777 == 0o600)
        #expect(try Data(contentsOf: URL(fileURLWithPath: lock)) == Data("secret".utf8))
        let read = try await Subprocess.finished(Self.nobody[0], Array(Self.nobody.dropFirst()) + ["cat", lock])
        #expect(read.status != 0 && read.output.isEmpty)
    }

    @Test(
        "Three users of one group write one file in turn, each with a lock file that another one created",
        .enabled(if: hasNobody && geteuid() == 0))
    func group() async throws {
        try #require(chown(folder.url.path, 0, 54_321) == 0 && chmod(folder.url.path, 0o2775) == 0)
        try await #expect(PeerSession(path).answers(to: ["open", "update key0 1"]) == ["done", "done"])
        try #require(chown(path, 0, 54_321) == 0 && chmod(path, 0o664) == 0)
        try FileManager.default.removeItem(atPath: folder.path(".settings.plist.lock"))
        for user in [11, 12, 13, 11] {
            let launcher = ["setpriv", "--reuid", "600\(user)", "--regid", "600\(user)", "--groups", "54321"]
            let answers = try await PeerSession(path, by: launcher).answers(to: ["open", "update key\(user) 1"])
            #expect(answers == ["done", "done"], "\(user)")
        }
        try await #expect(
            PeerSession(path).answers(to: ["open", "update key14 1", "keys"]) == ["done", "done", "key0 key11 key12 key13 key14"])
    }

    #if os(Linux)
        @Test(
            "The owner of a list and a user who may write it by its access control list write it in turn, also beside its journal",
            .enabled(if: hasNobody && geteuid() == 0 && AccessControlEntries.areSupported), arguments: ["open", "open-journaling"])
        func named(opening: String) async throws {
            try await #expect(PeerSession(path).answers(to: ["open", "update key0 1"]) == ["done", "done"])
            let list: AccessControlEntries = "user::6 user:60022:6 group::0 mask::6 other::0"
            try list.set(on: path)
            try #require(chown(path, 60_021, 60_021) == 0 && chmod(folder.url.path, 0o777) == 0)
            try FileManager.default.removeItem(atPath: folder.path(".settings.plist.lock"))
            for (index, user) in [22, 21, 22, 22, 21, 21].enumerated() {
                let launcher = ["setpriv", "--reuid", "600\(user)", "--regid", "600\(user)", "--clear-groups"]
                let answers = try await PeerSession(path, by: launcher).answers(to: [opening, "update key\(index) 1", "stored"])
                let keys = (0...index).map { "key\($0)" }.joined(separator: " ")
                #expect(answers == ["done", "done", keys], "\(index) \(user)")
            }
        }
    #endif

    @Test("New files and folders are accessible to their owner only, whatever the umask", arguments: ["000", "022", "277", "777"])
    func umask(_ mask: String) async throws {
        let deep = folder.path("a/b/settings.plist")
        try await #expect(
            PeerSession(deep, after: "umask \(mask)").answers(to: ["open", "update key 1", "stored"]) == ["done", "done", "key"])
        let expected = ["a": 0o700, "a/b": 0o700, "a/b/settings.plist": 0o600, "a/b/.settings.plist.lock": 0o600]
        for (name, permissions) in expected {
            #expect(
                try FileManager.default.attributesOfItem(atPath: folder.path(name))[.posixPermissions] as? Int == permissions, "\(name)")
        }
    }
}
