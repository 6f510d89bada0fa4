import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A store whose calls fail in turn: the file has its old or new content, and its new content after a reported success.
@Suite("A store whose file fails", .timeLimit(.minutes(10)), .namingSeed)
struct StoreFaultTests {
    /// The outcome of one attempt.
    private struct Outcome: Sendable {
        /// The calls made, ending with the failing one.
        let names: [String]
        let error: StorageError?
        let stored: [String: PropertyListValue]
    }

    /// Runs an attempt for the calls that can fail, and returns their names.
    private func eachCall(_ attempt: (_ failing: Int) async throws -> [String]) async throws -> Set<String> {
        var failed: Set<String> = []
        for failing in CallRecorder.visitedCalls(try await attempt(.max)) {
            let names = try await attempt(failing)
            failed.formUnion(names.dropFirst(failing).prefix(1))
        }
        return failed
    }

    /// Checks the content of the file after an attempt that changes it from `old` to `new`.
    private func check(_ outcome: Outcome, failing: Int, old: [String: PropertyListValue], new: [String: PropertyListValue]) {
        // The new file is in place after the reply to the rename, and only then.
        let isInPlace = outcome.names.enumerated().contains { $0.offset <= failing && $0.element == "answer to rename" }
        #expect(outcome.stored == (isInPlace || outcome.error == nil ? new : old), "\(outcome)")
    }

    @Test(
        "A flush throws and is reported, its edits are kept, and the next flush writes them", arguments: WritingSituation.allCases,
        Fault.all)
    func flush(_ situation: WritingSituation, fault: Fault) async throws {
        let failed = try await eachCall { failing in
            let file = try FaultyFile(situation)
            let store = try file.open()
            let failures = store.failures
            let new = file.old.merging(["count": 2]) { $1 }
            let outcome = try await store.isolated { store in
                file.plan.begin(fault.at(failing))
                store[Keys.count] = 2
                var failure: StorageError?
                do throws(StorageError) { try await store.flush() } catch { failure = error }
                let outcome = Outcome(names: file.plan.end(), error: failure, stored: try file.stored())
                #expect(store[Keys.count] == 2)
                #expect(store.cache.update { $0.entries.pending.mapValues(\.value) } == (failure == nil ? [:] : ["count": 2]))
                try await store.flush()
                return outcome
            }
            check(outcome, failing: failing, old: file.old, new: new)
            try await finish(file, store, entries: new)
            if let error = outcome.error {
                #expect(fault.code != EINTR)
                #expect(await failures.first { _ in true } == error)
                #expect(file.isNamed(in: error) && error.description.contains(SystemError(fault.code).reason), "\(error)")
            }
            return outcome.names
        }
        expectAll(failed, of: situation)
    }

    @Test("A transaction that throws has no effect, unless only its durability failed", arguments: WritingSituation.allCases, Fault.all)
    func update(_ situation: WritingSituation, fault: Fault) async throws {
        let failed = try await eachCall { failing in
            let file = try FaultyFile(situation)
            let store = try file.open()
            let new = file.old.merging(["count": 2]) { $1 }
            file.plan.begin(fault.at(failing))
            var failure: StorageError?
            do { try await store.update { $0[Keys.count] = 2 } } catch { failure = try #require(error as? StorageError) }
            let outcome = Outcome(names: file.plan.end(), error: failure, stored: try file.stored())
            check(outcome, failing: failing, old: file.old, new: new)
            #expect(store.entries == (failure == nil ? new : file.old))
            #expect(store.cache.update { $0.entries.pending.isEmpty })
            // The next transaction starts with the content of the file, whichever that is.
            try await store.update { $0[Keys.text] = "next" }
            try await finish(file, store, entries: outcome.stored.merging(["text": "next"]) { $1 })
            return outcome.names
        }
        expectAll(failed, of: situation)
    }

    /// After all faults: memory and file are as expected, and no other file and no descriptor is left.
    private func finish(_ file: FaultyFile, _ store: ObservableStore, entries: [String: PropertyListValue]) async throws {
        #expect(store.entries == entries)
        #expect(try file.stored() == entries)
        // A child just forked by another test may hold the lock of a temporary file: the next writes remove it.
        for attempt in 0..<100 {
            if try file.files() == [file.target] { break }
            try await store.update { $0[Keys.text] = "\(attempt)" }
        }
        #expect(try file.files() == [file.target])
        try await store.close()
        #expect(file.plan.openDescriptors.isEmpty)
    }

    private func expectAll(_ failed: Set<String>, of situation: WritingSituation) {
        let calls: Set = [
            "statusOfPath", "open", "lock", "unlock", "write", "synchronize", "statusOfDescriptor", "close", "rename",
            "answer to rename",
        ]
        #expect(failed.isSuperset(of: calls), "\(calls.subtracting(failed))")
        #expect(failed.contains("readLink") == situation.hasLink)
        let hasFolder = situation != .missingFolders && situation != .danglingLink
        #expect(failed.contains("list") == hasFolder)
        #expect(failed.contains("makeFolder") == (situation == .missingFolders || situation == .danglingLink))
        #expect(failed.contains("read") == situation.hasOld)
    }

    @Test("Opening throws or returns all entries, and does not change the file", arguments: WritingSituation.allCases, Fault.all)
    func opening(_ situation: WritingSituation, fault: Fault) async throws {
        let failed = try await eachCall { failing in
            let file = try FaultyFile(situation)
            file.plan.begin(fault.at(failing))
            do {
                #expect(try file.open().entries == file.old)
            } catch {
                if case .unreadable(file.path, let reason, _)? = error as? StorageError {
                    // Followed by the file beside it that could not be looked for, if it was that.
                    #expect(reason.hasPrefix(SystemError(fault.code).reason))
                } else {
                    Issue.record(error)
                }
            }
            let names = file.plan.end()
            #expect(try file.open().entries == file.old)
            #expect(try file.files() == (situation.hasOld ? [file.target] : []))
            #expect(file.plan.openDescriptors.isEmpty)
            return names
        }
        #expect(failed.contains("read") == situation.hasOld)
    }

    @Test("Moving an invalid file aside never loses it, whichever call fails", arguments: [WritingSituation.existing, .link], Fault.all)
    func quarantine(_ situation: WritingSituation, fault: Fault) async throws {
        let bad = Data("precious".utf8)
        let failed = try await eachCall { failing in
            let file = try FaultyFile(situation)
            try bad.write(to: file.folder.file(file.target))
            // An old file is not treated as one that is being written.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file.folder.path(file.target))
            file.plan.begin(fault.at(failing))
            do {
                let store = try ObservableStore(backend: UnwatchedFile(file.backend(onCorruption: .quarantine)))
                #expect(store.entries.isEmpty)
            } catch {
                #expect(file.isNamed(in: error), "\(error)")
            }
            let names = file.plan.end()
            let files = try file.files()
            #expect(try files.count == 1 && Data(contentsOf: file.folder.file(files[0])) == bad, "\(files)")
            let store = try ObservableStore(backend: UnwatchedFile(file.backend(onCorruption: .quarantine)))
            try await store.update { $0[Keys.count] = 3 }
            #expect(try file.stored() == ["count": 3])
            #expect(try file.files().count == 2)
            #expect(file.plan.openDescriptors.isEmpty)
            return names
        }
        #expect(failed.isSuperset(of: ["rename", "list"]))
    }

    @Test("A flush fails until its folder is synchronized")
    func folderSynchronizedLater() async throws {
        let file = try FaultyFile(.existing)
        let store = try file.open()
        try await store.isolated { store in
            let renamed = Lock(false)
            file.plan.begin { _, name in
                renamed.withLock { $0 = name == "answer to rename" || ($0 && name != "lock") }
                return renamed.withLock { $0 } && name == "synchronize" ? EIO : nil
            }
            store[Keys.count] = 2
            var isFailing = await store.flushFailure() != nil
            #expect(isFailing)
            isFailing = await store.flushFailure() != nil
            #expect(isFailing)
            #expect(file.plan.end().count { $0 == "answer to rename" } == 2)
            file.plan.begin { _, _ in nil }
            try await store.flush()
            #expect(file.plan.end().suffix(while: { $0 != "answer to rename" }).contains("synchronize"))
            #expect(store.cache.update { $0.entries.pending.isEmpty })
            file.plan.begin { _, _ in nil }
            try await store.flush()
            #expect(file.plan.end().isEmpty)
        }
    }

    @Test("An edit whose file was renamed although that was reported as failed is written again, so that it is durable")
    func renamedWithoutAnswer() throws {
        let file = try FaultyFile(.existing)
        let backend = file.backend()
        _ = try backend.load()
        file.plan.begin { _, name in name == "answer to rename" ? EIO : nil }
        #expect(throws: StorageError.self) { try backend.edit { $0["count"] = 2 } }
        file.plan.begin { _, _ in nil }
        #expect(try backend.edit { $0["count"] = 2 }["count"] == 2)
        #expect(file.plan.end().suffix(while: { $0 != "answer to rename" }).contains("synchronize"))
    }

    @Test("The store has what a transaction has put into the file, although it failed", arguments: ["synchronize", "answer to rename"])
    func failedInPlace(call: String) async throws {
        let file = try FaultyFile(.existing)
        let store = try ObservableStore(backend: file.backend())
        var values = store.values(of: Keys.count).makeAsyncIterator()
        #expect(await values.next() == 1)
        // Until the file is watched.
        try await store.update { $0[Keys.count] = 2 }
        #expect(await values.next() == 2)
        let isRenamed = Lock(false)
        file.plan.begin { _, name in
            isRenamed.withLock { $0 = $0 || name == "answer to rename" }
            return name == call && isRenamed.withLock { $0 } ? EIO : nil
        }
        let failure = await #expect(throws: StorageError.self) { try await store.update { $0[Keys.count] = 3 } }
        file.plan.end()
        #expect(try #require(failure).description.hasSuffix("; the file has its new content, which may not outlive a power failure"))
        #expect(try file.stored()["count"] == 3)
        #expect(await values.next() == 3)
    }

    @Test("It also fails if a further attempt fails before writing anything")
    func failedBetween() async throws {
        let file = try FaultyFile(.existing)
        let store = try file.open()
        try await store.isolated { store in
            let isRenamed = Lock(false)
            file.plan.begin { _, name in
                isRenamed.withLock { $0 = $0 || name == "answer to rename" }
                return name == "synchronize" && isRenamed.withLock { $0 } ? EIO : nil
            }
            store[Keys.count] = 2
            var isFailing = await store.flushFailure() != nil
            #expect(isFailing)
            file.plan.begin { _, name in name == "write" ? EIO : nil }
            isFailing = await store.flushFailure() != nil
            #expect(isFailing)
            file.plan.begin { _, _ in nil }
            try await store.flush()
            #expect(file.plan.end().contains("answer to rename"))
        }
    }

    @Test("A new folder that was not synchronized with its parent is created again")
    func newFolderSynchronizedLater() async throws {
        let file = try FaultyFile(.missingFolders)
        let store = try file.open()
        try await store.isolated { store in
            file.plan.begin { _, name in name == "synchronize" ? EIO : nil }
            store[Keys.count] = 2
            let isFailing = await store.flushFailure() != nil
            #expect(isFailing)
            file.plan.end()
            #expect(try file.folder.names().isEmpty)
            file.plan.begin { _, _ in nil }
            try await store.flush()
            // Two folders, the file, and the folder after the rename.
            #expect(file.plan.end().count { $0 == "synchronize" } == 4)
        }
    }
}

extension Sequence {
    /// The elements after the last that does not satisfy a condition.
    fileprivate func suffix(while condition: (Element) -> Bool) -> [Element] {
        reversed().prefix(while: condition).reversed()
    }
}
