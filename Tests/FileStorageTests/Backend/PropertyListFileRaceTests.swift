import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Changes that others make to the file while the library waits, injected where it pauses.
@Suite("Concurrent access to a property-list file", .timeLimit(.minutes(10)))
struct PropertyListFileRaceTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ value: PropertyListValue, to name: String) throws {
        try value.encoded(as: .binary).write(to: folder.file(name))
    }

    /// The file, with a closure called at the first pause.
    private func backend(
        onCorruption: CorruptionPolicy = .refuse, whilePausing action: @escaping @Sendable () throws -> Void
    ) -> PropertyListFile {
        var calls = FileSystemCalls.live
        let isCalled = Lock(false)
        let pause = calls.pause
        calls.pause = { duration in
            if !isCalled.exchange(true) {
                do { try action() } catch { Issue.record(error) }
            }
            pause(duration)
        }
        return PropertyListFile(
            at: file, configuration: .with { ($0.onCorruption, $0.lockTimeout) = (onCorruption, .seconds(500)) }, calls: calls)
    }

    @Test("A link that is changed while its lock is awaited is written through to its new target")
    func turnedLink() throws {
        let (folder, file) = (folder, file)
        try write(["who": "a"], to: "a.plist")
        try write(["who": "b"], to: "b.plist")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "a.plist")
        // Another holder has the lock of the first target until the link has been changed.
        let held = DispatchSemaphore(value: 0)
        let turned = DispatchSemaphore(value: 0)
        let backend = backend {
            try FileManager.default.createSymbolicLink(atPath: folder.path("new"), withDestinationPath: "b.plist")
            #expect(rename(folder.path("new"), file.path) == 0)
            turned.signal()
        }
        Thread.detachNewThread {
            do {
                try FileLock.withLock(for: folder.path("a.plist"), timeout: .seconds(500)) {
                    held.signal()
                    turned.wait()
                }
            } catch {
                Issue.record(error)
            }
        }
        held.wait()
        _ = try backend.edit { $0["count"] = 7 }
        #expect(try ObservableStore(at: folder.file("a.plist")).entries == ["who": "a"])
        #expect(try ObservableStore(at: folder.file("b.plist")).entries == ["who": "b", "count": 7])
    }

    @Test("An edit waits for an editor that deletes the file and writes it again")
    func editDuringRecreation() throws {
        let (folder, file) = (folder, file)
        try write(["count": 1], to: "settings.plist")
        let backend = backend { try PropertyListValue.dictionary(["count": 2]).encoded(as: .binary).write(to: file) }
        #expect(try backend.load().values == ["count": 1])
        try FileManager.default.removeItem(at: file)
        #expect(try backend.edit { $0["text"] = "x" }.values == ["count": 2, "text": "x"])
        withExtendedLifetime(folder) {}
    }

    @Test("An edit whose file was replaced meanwhile runs again on the new content, which is preserved", arguments: [1, 2, 3])
    func fasterWriters(count: Int) throws {
        let runs = Lock(0)
        let list = PropertyListFile(at: file)
        let entries = try list.edit { entries in
            let run = runs.withLock {
                $0 += 1; return $0
            }
            #expect(entries.values.count == run - 1)
            let theirs = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .zero })
            if run <= count { _ = try theirs.edit { $0["theirs\(run)"] = true } }
            entries["own"] = .integer(PropertyListInteger(Int64(run)))
        }
        #expect(entries.values.count == count + 1)
        #expect(entries["own"] == .integer(PropertyListInteger(Int64(count + 1))))
        #expect(try ObservableStore(at: file).entries == entries.values)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).count == 2)
    }

    @Test("A writer whose lock file was removed while it held the lock does not undo an edit made with a new lock file")
    func removedLockFile() throws {
        let (folder, file) = (folder, file)
        try write(["count": 1], to: "settings.plist")
        let lock = folder.path(".settings.plist.lock")
        let isHeld = Lock(false)
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            try FileSystemCalls.live.lock(descriptor)
            let locked = try FileSystemCalls.live.status(of: descriptor).identity
            if try FileSystemCalls.live.status(at: lock)?.identity.isSameFile(as: locked) == true { isHeld.withLock { $0 = true } }
        }
        let isRemoved = Lock(false)
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            // The folder is checked when the path is resolved.
            if path.path == folder.url.path + "/.", isHeld.withLock({ $0 }), !isRemoved.withLock({ $0 }) {
                isRemoved.withLock { $0 = true }
                // From here on, the writer holds a lock that others do not see.
                unlink(lock)
                let theirs = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .zero })
                do { _ = try theirs.edit { $0["theirs"] = true } } catch { Issue.record(error) }
            }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        let list = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls)
        #expect(try list.edit { $0["own"] = true }.values == ["count": 1, "theirs": true, "own": true])
        #expect(isRemoved.withLock { $0 })
        #expect(try ObservableStore(at: file).entries == ["count": 1, "theirs": true, "own": true])
    }

    @Test("Nothing is renamed under a lock whose file was removed after it was acquired")
    func renamingNeedsLockFile() throws {
        try write(["count": 1], to: "settings.plist")
        let lock = folder.path(".settings.plist.lock")
        let isRemoved = Lock(false)
        var calls = FileSystemCalls.live
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            defer { if path.path == lock, !isRemoved.exchange(true) { #expect(unlink(lock) == 0) } }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        calls.renameFile = { [file] from, to throws(SystemError) in
            if to.path == file.path { #expect(access(lock, F_OK) == 0) }
            try FileSystemCalls.live.renameFile(from, to)
        }
        let list = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls)
        #expect(try list.edit { $0["own"] = true }.values == ["count": 1, "own": true])
        #expect(isRemoved.withLock { $0 })
    }

    @Test("A commit that has nothing to write is told that it is stored under the lock", arguments: [false, true])
    func storedUnderLock(isJournaled: Bool) throws {
        let list = PropertyListFile(at: file, journal: isJournaled ? .full() : .edits)
        _ = try list.edit { $0["own"] = true }
        let isHeld = Lock<Bool?>(nil)
        var options = CommitOptions()
        options.whenStored = { [folder] _, _ in
            let other = open(folder.path(".settings.plist.lock"), O_RDWR | O_CLOEXEC)
            isHeld.exchange(flock(other, LOCK_EX | LOCK_NB) != 0)
            close(other)
        }
        _ = try list.edit(options) { $0["own"] = true }
        #expect(isHeld.withLock { $0 } == true)
    }

    @Test("Of two writers with different lock files, because one was removed before the rename, only one replaces the file")
    func twoLocks() throws {
        let file = file
        try write(["count": 1], to: "settings.plist")
        let outcome = Lock<Bool?>(nil)
        let target = try ResolvedPath(file.path)
        var calls = FileSystemCalls.live
        calls.renameFile = { from, to throws(SystemError) in
            if from.path.hasSuffix(".tmp"), to.path == file.path {
                do {
                    let base = try FileIdentity(path: file.path)
                    var theirs = FileSystemCalls.live
                    // The other writer continues only after this one has renamed.
                    theirs.pause = { _ in
                        guard outcome.withLock({ $0 == nil }) else { return }
                        outcome.withLock { $0 = false }
                        #expect(rename(from.path, to.path) == 0)
                    }
                    let other = try theirs.prepareReplacement(of: target, with: Data("theirs".utf8), over: base)
                    let isPlaced = try other?.replace()
                    other?.discard()
                    #expect(isPlaced == false)
                } catch {
                    Issue.record(error)
                }
            } else {
                try FileSystemCalls.live.renameFile(from, to)
            }
        }
        let list = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: calls)
        #expect(try list.edit { $0["own"] = true }.values == ["count": 1, "own": true])
        #expect(outcome.withLock { $0 } == false)
        #expect(try ObservableStore(at: file).entries == ["count": 1, "own": true])
    }

    @Test("The lock is held only for checking the file and renaming")
    func heldShortly() throws {
        try write(["count": 1], to: "settings.plist")
        let recorder = CallRecorder()
        let list = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: recorder.calls)
        _ = try list.edit { $0["own"] = 1 }
        let start = recorder.names.count
        _ = try list.edit { $0["own"] = 2 }
        let names = Array(recorder.names[start...])
        let rename = try #require(names.firstIndex(of: "rename"))
        let locked = names[..<rename].suffix(while: { $0 != "synchronize" })
        // Those of the lock file and of the old file.
        #expect(locked.count { $0 == "lock" } == 2)
        let unlocked = try #require(names.lastIndex(of: "unlock"))
        let underLock = Set(names[(names.lastIndex(of: "synchronize", before: rename) ?? 0)...unlocked].dropFirst())
        #expect(
            underLock.isSubset(of: [
                "open", "lock", "statusOfDescriptor", "statusOfPath", "untimedStatus", "readLink", "list", "rename", "unlock",
            ]),
            "\(underLock)")
        #expect(names[unlocked...].contains("synchronize"))
    }

    @Test("An edit reads the file at most once, and not at all if this store wrote it last")
    func reads() throws {
        try write(["count": 1], to: "settings.plist")
        let recorder = CallRecorder()
        let list = PropertyListFile(at: file, configuration: .with { $0.lockTimeout = .seconds(500) }, calls: recorder.calls)
        for number in 2..<5 {
            _ = try list.edit { $0["count"] = .integer(PropertyListInteger(Int64(number))) }
            _ = try list.load()
        }
        #expect(recorder.names.count { $0 == "read" } == 1)
    }

    @Test("Content made from one file is never written with the owner and permissions of another file that replaced it")
    func exchanged() throws {
        try write(["secret": 1], to: "settings.plist")
        try #require(chmod(file.path, 0o600) == 0)
        let list = PropertyListFile(at: file)
        let isFirst = Lock(true)
        _ = try list.edit { entries in
            let isFirstRun = isFirst.withLock { isFirst in
                defer { isFirst = false }
                return isFirst
            }
            if isFirstRun {
                try write(["public": 1], to: "other")
                #expect(chmod(folder.path("other"), 0o666) == 0 && rename(folder.path("other"), file.path) == 0)
            }
            entries["own"] = true
        }
        #expect(try ObservableStore(at: file).entries == ["public": 1, "own": true])
    }

    @Test("Only a file that was invalid when opened is moved aside, not one that became invalid later", arguments: [true, false])
    func badWhileRunning(isEdited: Bool) throws {
        try write(["count": 1], to: "settings.plist")
        let list = PropertyListFile(at: file, configuration: .with { $0.onCorruption = .quarantine })
        _ = try list.load()
        try Data("bad".utf8).write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file.path)
        #expect(throws: StorageError.self) { isEdited ? try list.edit { $0["count"] = 2 } : try list.load() }
        #expect(try Data(contentsOf: file) == Data("bad".utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).allSatisfy { !$0.contains("corrupt") })
    }

    @Test("Reading waits for a writer that is writing in place")
    func halfWritten() throws {
        let file = file
        try write(["count": 1], to: "settings.plist")
        let backend = backend { try PropertyListValue.dictionary(["count": 2]).encoded(as: .xml).write(to: file) }
        #expect(try backend.load().values == ["count": 1])
        try Data("<plist><dict>".utf8).write(to: file)
        #expect(try backend.load().values == ["count": 2])
    }

    @Test("An edit of an invalid file that was never read also moves it aside")
    func editOfBadFile() throws {
        try Data("bad".utf8).write(to: file)
        let backend = PropertyListFile(at: file, configuration: .with { $0.onCorruption = .quarantine })
        #expect(try backend.edit { $0["count"] = 1 }.values == ["count": 1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains("corrupt") }.count == 1)
    }

    @Test("An invalid file just moved aside is kept even if the clock was set back, and no other file is removed")
    func quarantineKeepsTheNewest() throws {
        let later = (1...4).map { "settings.plist.corrupt-29990101T00000\($0).000000Z" }
        for name in later { try Data("later".utf8).write(to: folder.file(name)) }
        let foreign = folder.file("settings.plist.corrupt-a-from-june")
        try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: false)
        try Data("precious".utf8).write(to: file)
        #expect(try ObservableStore(at: file, configuration: .with { $0.onCorruption = .quarantine }).entries.isEmpty)
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).sorted()
        let aside = left.filter { $0.contains(".corrupt-2") }
        #expect(aside.suffix(2) == later.suffix(2))
        #expect(aside.count == 3)
        #expect(String(decoding: try Data(contentsOf: folder.file(aside[0])), as: UTF8.self) == "precious")
        #expect(left.contains(foreign.lastPathComponent))
    }

    @Test("A shared store follows a link that is changed")
    func sharedStoreFollowsLinks() async throws {
        try write(["count": 1], to: "a.plist")
        try write(["count": 2], to: "b.plist")
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "a.plist")
        let store = try ObservableStore.shared(at: file)
        try FileManager.default.createSymbolicLink(atPath: folder.path("new"), withDestinationPath: "b.plist")
        #expect(rename(folder.path("new"), file.path) == 0)
        for await count in store.values(of: Keys.count) where count == 2 { break }
    }

    @Test("A shared store that was closed is opened again")
    func sharedStoreAfterClose() async throws {
        let first = try ObservableStore.shared(at: file)
        try await first.close()
        let second = try ObservableStore.shared(at: file)
        #expect(second !== first)
        try second.set(1, for: Keys.count)
        #expect(try ObservableStore.shared(at: file) === second)
        try await second.flush()
    }
}

extension Collection {
    /// The elements after the last one that does not satisfy a condition.
    fileprivate func suffix(while condition: (Element) -> Bool) -> [Element] {
        reversed().prefix(while: condition).reversed()
    }
}

extension [String] {
    fileprivate func lastIndex(of name: String, before end: Int) -> Int? {
        self[..<end].lastIndex(of: name)
    }
}
