import FoundationSubset
import PropertyListCoding
import Synchronization

extension ListFile {
    // The time to wait for a program that writes the file in place, during which the file is incomplete.
    private static let incompleteGrace: Duration = .milliseconds(250)
    // The time to wait for editors that move the old file away before they write the new one; they need less even on a busy machine.
    static let missingGrace: Duration = .milliseconds(500)
    static let pause: Duration = .milliseconds(10)
    private static let recently: TimeInterval = 1

    /// The entries of the file, after it was renamed if it is malformed and that is allowed; a missing file has none. One below something
    /// that is no folder is not missing, but unreadable.
    func load(quarantining quarantine: @escaping Quarantine) throws -> StorageEntries {
        if let content = try contentUnlessCorrupt(at: ResolvedPath(splitting: path.get().text)) { return content.entries }
        while true {
            if let content = try content(of: target(), quarantining: quarantine) { return content.entries }
        }
    }

    /// The content of the file at a resolved path, after it was renamed if it is malformed and that is allowed; nil if that failed because
    /// the path leads elsewhere now.
    func content(of target: ResolvedPath, quarantining quarantine: Quarantine? = nil) throws -> FileContent? {
        if let content = try contentUnlessCorrupt(at: target) { return content }
        return try withFileLock(of: target) { _ in try contentOrQuarantine(at: target, quarantine) } ?? nil
    }

    /// The content of the file: the cached one if the file is unchanged since it was last read or written, and otherwise read again.
    ///
    /// - Parameter path: the path as it was given, whose link is followed, or the resolved one.
    private func content(at path: ResolvedPath) throws(StorageError) -> FileContent {
        let last = cached.withLock { $0 }
        if let last, !last.isYoung, last.identity == (try identity(at: path)) { return last }
        let content = try settledContent(at: path, last: last)
        if configuration.mustExist, last == nil, content.identity == nil {
            throw .unreadable(file: name, reason: "there is no such file; create it, or correct the path")
        }
        cache(content)
        if configuration.onDeletion == .keepLastValues, content.identity == nil, last?.identity != nil {
            let reason = "it was deleted; its last values are kept in memory, and the next write stores them again"
            reports.publish(.unreadable(file: name, reason: reason))
        }
        if content.isBlank, let last, !last.isBlank, !last.entries.stored.isEmpty {
            reportTruncation()
        }
        return content
    }

    /// Reports that the list is empty, and was not when it was last known.
    func reportTruncation() {
        let outcome = "of its values, only edits that it did not have yet are left; restore it from a copy if it should not be"
        reports.report([.unreadable(file: name, reason: "it was truncated and is empty: \(outcome)")])
    }

    private func identity(at path: ResolvedPath) throws(StorageError) -> FileIdentity? {
        try FileIdentity(at: path, followsLinks: path.openFolder == nil, calls: calls)
    }

    /// Caches content that was read or written.
    func cache(_ content: FileContent) {
        cached.exchange(content)
        if content.identity != nil { isQuarantined.store(false, ordering: .relaxed) }
        record(content.format)
    }

    /// Forgets the last values of a missing list if its journal records it as missing, and not what it had.
    ///
    /// - Parameter recorded: the list of the journal that is missing; nil if the list was deleted after it was in place.
    func markMissing(as recorded: JournaledList?) {
        // A process that did not know of it may have recorded a list that was moved aside as deleted.
        if recorded?.isQuarantined ?? true { isQuarantined.store(recorded != nil, ordering: .relaxed) }
        guard let recorded, recorded.isGap, let last = cached.withLock({ $0 }) else { return }
        guard last.identity != nil || !last.entries.stored.isEmpty else { return }
        cache(.missing(format: newFormat))
        guard configuration.onDeletion == .keepLastValues else { return }
        let reason =
            recorded.isQuarantined
            ? "another process has moved it aside, because it was malformed; its last values are not kept, except for edits that it lacked"
            : "it was deleted, which a process has recorded that did not know its values; its last values are not kept"
        reports.publish(.unreadable(file: name, reason: reason))
    }

    /// Reads the file, several times if it is malformed or empty and was modified just now, or was removed a moment ago.
    private func settledContent(at path: ResolvedPath, last: FileContent?) throws(StorageError) -> FileContent {
        var waited: Duration = .zero
        while true {
            do throws(StorageError) {
                let content = try readContent(at: path, last: last)
                if content.isBlank {
                    guard last?.isBlank != true, isRecent(content.identity) else { return content }
                    if waited >= Self.incompleteGrace {
                        // A program that has just truncated the list may be about to write it.
                        guard let last, last.identity != nil else { return content }
                        throw StorageError.malformed(file: name, offset: 0, reason: "there are no bytes")
                    }
                } else {
                    guard content.identity == nil, last?.identity != nil, waited < Self.missingGrace else { return content }
                }
            } catch {
                guard case .malformed = error, waited < Self.incompleteGrace, isRecent(try identity(at: path)) else { throw error }
            }
            calls.pause(Self.pause)
            waited += Self.pause
        }
    }

    private func isRecent(_ identity: FileIdentity?) -> Bool {
        identity.map { $0.age(at: calls.now()) < Self.recently } ?? false
    }

    private func readContent(at path: ResolvedPath, last: FileContent?) throws(StorageError) -> FileContent {
        let time = calls.now()
        guard let (bytes, identity) = try calls.readFile(at: path, followsLinks: path.openFolder == nil) else {
            try calls.requireFolders(on: self.path.get())
            guard configuration.onDeletion == .keepLastValues, let last else { return .missing(format: newFormat) }
            return .missing(entries: last.entries, format: last.format)
        }
        // There is nothing in it that another program could want to keep.
        if bytes.isEmpty || bytes == Data("\n".utf8) {
            let format = last?.format ?? newFormat
            return FileContent(identity: identity, bytes: Data(), entries: StorageEntries(), format: format, lookedAt: time)
        }
        if let last, last.identity != nil, !last.isBlank {
            if last.bytes == bytes {
                return FileContent(
                    identity: identity, bytes: last.bytes, entries: last.entries, format: last.format, lookedAt: time)
            }
            if let changes = PropertyListValue.changes(in: bytes, since: last.bytes, of: { last.entries[$0] }) {
                return FileContent(
                    identity: identity, bytes: bytes, entries: StorageEntries(last.entries, with: changes), format: last.format,
                    lookedAt: time)
            }
        }
        return try FileContent(bytes: bytes, identity: identity, file: name, lookedAt: time)
    }
}

// MARK: - Malformed and incomplete files

extension ListFile {
    private static let keptQuarantines = 3

    /// The content of the file; nil if it is malformed and may be renamed, which is only allowed before it was read for the first time.
    func contentUnlessCorrupt(at path: ResolvedPath) throws(StorageError) -> FileContent? {
        do throws(StorageError) {
            return try content(at: path)
        } catch {
            guard mayQuarantine(after: error) else { throw error }
            return nil
        }
    }

    private func mayQuarantine(after error: StorageError) -> Bool {
        guard case .malformed = error else { return false }
        return configuration.onCorruption == .quarantine && cached.withLock { $0 == nil }
    }

    /// Calls a closure that renames a malformed list, or returns false if another file is in its place, and keeps what only its journal has.
    ///
    /// Returns whether there is anything; nil if it has to be tried again.
    typealias Quarantine = (_ target: ResolvedPath, _ rename: () throws -> Bool) throws -> Bool?

    /// The content of the file after a malformed file was renamed; nil if that has to be tried again. Called under the file's lock.
    func contentOrQuarantine(at target: ResolvedPath, _ keep: Quarantine? = nil) throws -> FileContent? {
        let malformation: StorageError
        let found = try identity(at: target)
        do throws(StorageError) {
            return try content(at: target)
        } catch {
            guard mayQuarantine(after: error) else { throw error }
            malformation = error
        }
        let quarantine = target.quarantine(at: Date())
        let rename = {
            // Somebody may just have repaired it.
            guard try self.identity(at: target) == found else { return false }
            try self.calls.writing(self.name, "renaming the malformed file") { () throws(SystemError) in
                try self.calls.uninterrupted { () throws(SystemError) in try self.calls.renameFile(target, quarantine) }
            }
            return true
        }
        var hasEdits = false
        if let keep {
            guard let isKept = try keep(target, rename) else { return nil }
            hasEdits = isKept
        } else if try !rename() {
            return nil
        }
        if case .malformed(_, let offset, let line, let column, let reason, _) = malformation {
            let start = hasEdits ? "starts with the edits of its journal that it did not have" : "starts empty"
            let moved = "\(reason) (it was moved there from \(name), which \(start))"
            reports.report([.malformed(file: quarantine.path, offset: offset, line: line, column: column, reason: moved)])
        }
        isQuarantined.store(true, ordering: .relaxed)
        removeOldQuarantines(of: target, besides: quarantine.name)
        return try content(at: target)
    }

    /// Keeps the newest of the renamed files, including the last one.
    private func removeOldQuarantines(of target: ResolvedPath, besides newest: String) {
        do {
            guard let folder = target.openFolder else { return }
            let others = try calls.list(folder).filter { $0 != newest && target.isQuarantine($0) }
            for name in others.sorted().dropLast(Self.keptQuarantines - 1) {
                try calls.removeFile(target.sibling(name))
            }
        } catch {
            // The malformed file is kept and the store can open; an additional file does no harm.
        }
    }

    /// Completes the write of a writer that died while it wrote the file in place.
    func restoreIfNeeded() throws {
        guard configuration.inPlaceWriting != .never else { return }
        let target = try target()
        guard let copy = try configuration.inPlaceWriting.copy(of: target, calls: calls) else { return }
        let status = try calls.reading(name, "looking for \(copy.path)") { () throws(SystemError) in try calls.status(at: copy) }
        if status != nil { _ = try withFileLock(of: target) { _ in try calls.restore(target, from: copy) } }
    }
}
