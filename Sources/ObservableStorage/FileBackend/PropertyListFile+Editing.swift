import FoundationSubset
public import PropertyListCoding
import Synchronization

extension PropertyListFile {
    // Each attempt fails because another writer replaced the file meanwhile.
    private static let mostPreparations = 3
    private static let mostRounds = 100

    /// Edited content that was written beside the file, and only has to be renamed.
    private struct Draft {
        let target: ResolvedPath
        let replacement: FileReplacement
        let bytes: Data
        let entries: StorageEntries
        let format: PropertyListFormat
        /// A time before it was written.
        let time: Date
        /// What has to be reported after it is in place.
        let reports: [StorageError]
    }

    /// The result of preparing an edit.
    private enum Preparation {
        /// There is nothing to write.
        case unchanged(StorageEntries)
        case drafted(Draft)
        /// The file was changed meanwhile, or has to be renamed first, which requires the lock.
        case failed(needsLock: Bool)
    }

    /// Runs an edit on the file's entries, and replaces the file if the edit changed something.
    ///
    /// The new file is written without the lock, which is held only to compare the file with the one that was edited, and to rename. If the
    /// file has changed, the edit runs again: without the lock up to three times, or under it if others wait for it.
    ///
    /// - Throws: what the edit throws; ``StorageError`` if the file cannot be locked, read or written.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try edit(as: nil, body)
    }

    /// Changes the format of the file, atomically, keeping its entries as far as the format can represent them.
    ///
    /// - Parameter check: throws an error if the entries cannot be converted; it may run more than once.
    /// - Throws: what the check throws; ``StorageError`` if the file cannot be locked, read or written.
    package func convert(to format: PropertyListFormat, _ check: ([String: PropertyListValue]) throws -> Void) throws {
        _ = try edit(as: format) { entries in
            let values = entries.values
            try check(values)
            for (key, value) in values { entries[key] = value.rounded(for: format) }
        }
    }

    /// Makes the edits of dead stores.
    ///
    /// - Parameter timeout: how long others may hold the lock; nil for as long as an edit waits.
    func editReplaying(timeout: Duration? = nil) throws -> StorageEntries {
        try edit(as: nil, isLocked: true, timeout: timeout) { _ in }
    }

    /// - Parameters:
    ///   - newFormat: the format to write; nil for that of the file.
    ///   - isLocked: whether it is prepared under the lock only.
    ///   - timeout: how long others may hold the lock; nil for as long as an edit waits.
    private func edit(
        as newFormat: PropertyListFormat?, isLocked: Bool = false, timeout: Duration? = nil,
        _ body: (inout StorageEntries) throws -> Void
    ) throws -> StorageEntries {
        if isReadOnly { throw StorageError.readOnly(file: name) }
        var draft: Draft?
        defer { drop(&draft) }
        var preparations = lock.resource == nil && !isLocked ? Self.mostPreparations : 0
        for _ in 0..<Self.mostRounds {
            let target = try lock.resource ?? resolved()
            // Before leftovers are removed.
            try calls.requireOwnLinks(of: target)
            if try isJournaled(target) {
                drop(&draft)
                let committed = try commitToJournal(body, preparing: &preparations, as: newFormat, at: target, timeout: timeout)
                guard let entries = committed else { continue }
                if let newFormat { try checkpoint(as: newFormat) }
                return entries
            }
            if draft?.target != target { drop(&draft) }
            if draft == nil, preparations > 0 {
                preparations -= 1
                switch try prepare(body, as: newFormat, at: target, isLocked: false, replaying: []) {
                case .unchanged(let entries): return entries
                case .drafted(let prepared): draft = prepared
                case .failed(needsLock: true): preparations = 0
                case .failed: continue
                }
            }
            let unchanged = try withFileLock(of: target, timeout: timeout) { lock -> StorageEntries? in
                // Somebody may just have made a journal.
                guard try !isJournaled(target) else { return nil }
                return try replaceFile(&draft, body, as: newFormat, at: target, lock)
            }
            if let unchanged = unchanged ?? nil { return unchanged }
            if let draft, draft.replacement.isInPlace { return try finish(draft) }
        }
        throw StorageError.unwritable(file: name, reason: "others change it again and again while it is written")
    }

    /// Renames a draft to the path, or, under a lock for which others wait, prepares another one from the current content of the file.
    ///
    /// Afterwards the draft was renamed, or has to be tried again because the lock file was removed meanwhile, or is nil.
    ///
    /// - Returns: the entries, if there is nothing to write.
    private func replaceFile(
        _ draft: inout Draft?, _ body: (inout StorageEntries) throws -> Void, as newFormat: PropertyListFormat?, at target: ResolvedPath,
        _ lock: FileLock?
    ) throws -> StorageEntries? {
        // Their edits come before this one.
        let areStored = try forDeadLogs(of: target) { logs in
            drop(&draft)
            return try store(logs, at: target, lock)
        }
        guard areStored else { return nil }
        if draft != nil {
            guard try put(&draft, lock) == nil, lock?.wasContended ?? true else { return nil }
        }
        switch try prepare(body, as: newFormat, at: target, isLocked: true, replaying: []) {
        case .unchanged(let entries): return entries
        case .drafted(let prepared): draft = prepared
        case .failed: return nil
        }
        _ = try put(&draft, lock)
        return nil
    }

    /// Stores the edits of dead stores under the lock, by themselves, and removes their logs: if this process is killed before, whoever finds
    /// the logs again has to find their values, and not later ones, which may be earlier values of a log.
    ///
    /// - Returns: false if the file has changed, or the lock file was removed.
    private func store(_ logs: [DeadEditLog], at target: ResolvedPath, _ lock: FileLock?) throws -> Bool {
        let folder = EditLogFolder(list: target, calls: calls)
        var areStored = false
        defer { if areStored { folder.remove(logs) } else { folder.release(logs) } }
        var draft: Draft?
        defer { drop(&draft) }
        switch try prepare({ _ in }, as: nil, at: target, isLocked: true, replaying: logs) {
        case .unchanged: areStored = try lock?.isInPlace() ?? true
        case .drafted(let prepared):
            draft = prepared
            guard let stored = try put(&draft, lock), stored.replacement.isInPlace else { return false }
            areStored = true
            do {
                _ = try finish(stored)
            } catch {
                // The caller's own edit is not in the file yet, and is made nevertheless.
                report([.writing(name, error)])
            }
        case .failed: break
        }
        return areStored
    }

    /// Renames a draft under the lock, if that is still the one in use; returns nil if the file has changed.
    private func put(_ draft: inout Draft?, _ lock: FileLock?) throws -> Draft? {
        guard let current = draft, try lock?.isInPlace() ?? true else { return draft }
        guard try noting(failureOf: current.replacement, { try replaceFile(current) }) else {
            drop(&draft)
            return nil
        }
        current.entries.whenStored?(current.target, current.replacement.written)
        report(current.reports)
        return draft
    }

    private func replaceFile(_ draft: Draft) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try draft.replacement.replace()
        } catch {
            guard draft.replacement.isMounted,
                let copy = try configuration.inPlaceWriting.copy(of: draft.target, calls: calls)
            else { throw error }
            return try draft.replacement.overwrite(draft.bytes, copy: copy)
        }
    }

    private func drop(_ draft: inout Draft?) {
        if draft?.replacement.discard() == false { leftovers.withLock { $0.temporaries = true } }
        draft = nil
    }

    /// Reads, edits, and writes the result beside the file.
    private func prepare(
        _ body: (inout StorageEntries) throws -> Void, as newFormat: PropertyListFormat?, at target: ResolvedPath, isLocked: Bool,
        replaying logs: [DeadEditLog]
    ) throws -> Preparation {
        try removeLeftovers(of: target)
        try restoreIfNeeded()
        let found = isLocked ? try contentOrQuarantine(at: target) : try contentUnlessCorrupt(at: target)
        guard let found else { return .failed(needsLock: true) }
        var entries = found.entries
        let reports = replay(logs, in: &entries, over: [found.identity], as: newFormat ?? found.format)
        try body(&entries)
        // Content that a failed write left in the file counts as edited: it is only durable once it is written again.
        let wanted = newFormat ?? found.format
        guard !entries.editedKeys.isEmpty || wanted != found.format || leftovers.withLock({ $0.content }) else {
            guard let whenStored = entries.whenStored else {
                report(reports)
                return .unchanged(found.entries)
            }
            // Otherwise another writer could replace what is stored before that is noted.
            guard isLocked else { return .failed(needsLock: true) }
            whenStored(target, found.identity)
            report(reports)
            return .unchanged(found.entries)
        }
        let (bytes, format) = try encode(entries, over: found, as: wanted)
        guard bytes.count <= FileSystemCalls.largestFileSize else {
            throw StorageError.unwritable(file: name, reason: "\(bytes.count) bytes are more than could be read again")
        }
        let time = calls.now()
        let replacement = try noting(failureOf: nil) {
            try calls.prepareReplacement(of: target, with: bytes, over: found.identity, protection: configuration.protection)
        }
        guard let replacement else { return .failed(needsLock: false) }
        return .drafted(
            Draft(target: target, replacement: replacement, bytes: bytes, entries: entries, format: format, time: time, reports: reports))
    }

    /// Waits until the renamed file is on the medium; without the lock, because the next edit waits for it as well.
    private func finish(_ draft: Draft) throws -> StorageEntries {
        let (identity, isUnmistakable) = try noting(failureOf: draft.replacement) { try draft.replacement.finish() }
        let written = FileContent(
            identity: identity, bytes: draft.bytes, entries: draft.entries.stored(as: draft.format), format: draft.format,
            lookedAt: isUnmistakable ? .distantFuture : draft.time)
        leftovers.withLock { $0.content = false }
        cache(written)
        return written.entries
    }

    /// Runs a step of a replacement, and records the remaining files if it fails.
    func noting<Result>(failureOf replacement: FileReplacement?, _ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch {
            let isInPlace = replacement?.isInPlace ?? false
            leftovers.withLock { $0 = (true, $0.content || isInPlace) }
            throw error
        }
    }

    /// Removes temporary files of writers that died, and those that this writer could not remove.
    func removeLeftovers(of target: ResolvedPath) throws(StorageError) {
        let isNeeded = leftovers.withLock { leftovers in
            defer { leftovers.temporaries = false }
            return leftovers.temporaries
        }
        guard isNeeded else { return }
        var isComplete = calls.removeLeftovers(of: target)
        if let copy = try configuration.inPlaceWriting.copy(of: target, calls: calls) {
            isComplete = calls.removeLeftovers(of: copy) && isComplete
        }
        if !isComplete { leftovers.withLock { $0.temporaries = true } }
    }
}

// MARK: - Encoding

extension PropertyListFile {
    func encode(
        _ entries: StorageEntries, over found: FileContent, as format: PropertyListFormat
    ) throws(StorageError) -> (Data, PropertyListFormat) {
        do {
            return (try entries.encoded(as: format, editing: found.bytes, of: found.entries), format)
        } catch  where format == .xml && configuration.formatPolicy == .binaryWhenNecessary {
            return try encode(entries, over: found, as: .binary)
        } catch {
            throw rejection(of: entries, format: format, because: error)
        }
    }

    /// The value as it will be read back: as represented in XML, if the file was XML when it was last read or written.
    public func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        guard isXML.load(ordering: .relaxed), configuration.formatPolicy == .keep else { return value }
        if let rejection = rejection(of: value, for: key, format: .xml) { throw rejection }
        return value.rounded(for: .xml)
    }

    /// The reason why a format cannot represent an entry; nil if it can.
    func rejection(of value: PropertyListValue, for key: String, format: PropertyListFormat) -> StorageError? {
        do {
            _ = try PropertyListValue.dictionary([key: value]).encoded(as: format)
            return nil
        } catch {
            let remedy = format == .xml ? " (convert the file to binary, or open it with a policy that does so)" : ""
            return .unencodable(key: key, reason: "\(name) is \(format == .xml ? "XML" : "binary"), and \(error.reason)\(remedy)")
        }
    }

    /// Names the edit that cannot be written; the entries that were already in the file can.
    private func rejection(of entries: StorageEntries, format: PropertyListFormat, because error: PropertyListError) -> StorageError {
        for key in entries.editedKeys.sorted() {
            if let value = entries[key], let rejection = rejection(of: value, for: key, format: format) { return rejection }
        }
        return .unwritable(file: name, reason: error.description)
    }
}
