import Foundation
import PropertyListCoding

extension PropertyListFile {
    // Each is lost because another writer was faster.
    private static let mostPreparations = 3
    private static let mostRounds = 100

    /// Edited content that is written beside the file, and has only to be put in its place.
    private struct Draft {
        let target: ResolvedPath
        let replacement: FileReplacement
        let bytes: Data
        let entries: StorageEntries
        let format: PropertyListFormat
        /// When it had not been written yet.
        let time: Date
    }

    /// What came of preparing an edit.
    private enum Preparation {
        /// Nothing is to be written.
        case unchanged(StorageEntries)
        case drafted(Draft)
        /// The file was changed meanwhile, or has to be moved aside first, which takes the lock.
        case failed(needsLock: Bool)
    }

    /// Runs an edit on the file's entries, and replaces the file if the edit changed something.
    ///
    /// The new file is written without the lock, which is held only to see whether the file is still the one that was edited, and to rename. If it is
    /// not, everything is done once more: without the lock up to three times, or under it if others wait for it.
    ///
    /// - Throws: what the edit throws; ``StorageError`` when the file cannot be locked, read or written.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        var draft: Draft?
        defer { drop(&draft) }
        var preparations = lock.held == nil ? Self.mostPreparations : 0
        for _ in 0..<Self.mostRounds {
            let target = try lock.held ?? resolved()
            if draft?.target != target { drop(&draft) }
            if draft == nil, preparations > 0 {
                preparations -= 1
                switch try prepare(body, at: target, isLocked: false) {
                case .unchanged(let entries): return entries
                case .drafted(let prepared): draft = prepared
                case .failed(needsLock: true): preparations = 0
                case .failed: continue
                }
            }
            let unchanged = try withFileLock(of: target) { lock in try place(&draft, body, at: target, lock) }
            if let unchanged = unchanged ?? nil { return unchanged }
            if let draft, draft.replacement.isInPlace { return try finish(draft) }
        }
        throw StorageError.unwritable(file: name, reason: "others change it again and again while it is written")
    }

    /// Puts a draft in place, or, under a lock that others wait for, makes another one of what the file holds now.
    ///
    /// Afterwards the draft is in place, or is to be tried again because the lock file was removed meanwhile, or is gone.
    ///
    /// - Returns: the entries, if nothing is to be written.
    private func place(
        _ draft: inout Draft?, _ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath, _ lock: FileLock?
    ) throws -> StorageEntries? {
        if draft != nil {
            guard try put(&draft, lock) == nil, lock?.wasContended ?? true else { return nil }
        }
        switch try prepare(body, at: target, isLocked: true) {
        case .unchanged(let entries): return entries
        case .drafted(let prepared): draft = prepared
        case .failed: return nil
        }
        _ = try put(&draft, lock)
        return nil
    }

    /// Puts a draft in place under the lock, if that is still the one that others take; returns the draft unless the file is another one by now.
    private func put(_ draft: inout Draft?, _ lock: FileLock?) throws -> Draft? {
        guard let current = draft, try lock?.isInPlace() ?? true else { return draft }
        if try !noting(current.replacement, { try place(current) }) { drop(&draft) }
        return draft
    }

    private func place(_ draft: Draft) throws(StorageError) -> Bool {
        do throws(StorageError) {
            return try draft.replacement.place()
        } catch {
            guard draft.replacement.isMounted, let copy = try inPlace.copy(of: draft.target, calls: calls) else { throw error }
            return try draft.replacement.overwrite(draft.bytes, copy: copy)
        }
    }

    private func drop(_ draft: inout Draft?) {
        if draft?.replacement.discard() == false { remains.withLock { $0.temporaries = true } }
        draft = nil
    }

    /// Reads, edits, and writes the outcome beside the file.
    private func prepare(
        _ body: (inout StorageEntries) throws -> Void, at target: ResolvedPath, isLocked: Bool
    ) throws -> Preparation {
        try sweep(target)
        try restoreIfNeeded()
        let found = isLocked ? try contentOrQuarantine(at: target.path) : try contentUnlessCorrupt(at: target.path)
        guard let found else { return .failed(needsLock: true) }
        var entries = found.entries
        try body(&entries)
        // What a failed write left in the file is as good as edited: it is on disk only once it has been written again.
        guard !entries.editedKeys.isEmpty || remains.withLock({ $0.content }) else { return .unchanged(found.entries) }
        let (bytes, format) = try encode(entries, format: found.format)
        guard bytes.count <= AtomicFile.largestSize else {
            throw StorageError.unwritable(file: name, reason: "\(bytes.count) bytes are more than could be read again")
        }
        let time = calls.now()
        let replacement = try noting(nil) { try AtomicFile.prepare(bytes, for: target, over: found.identity, calls: calls) }
        guard let replacement else { return .failed(needsLock: false) }
        return .drafted(Draft(target: target, replacement: replacement, bytes: bytes, entries: entries, format: format, time: time))
    }

    /// Waits until what is in place is on the medium; without the lock, since who edits it next waits for the same.
    private func finish(_ draft: Draft) throws -> StorageEntries {
        let (identity, isUnmistakable) = try noting(draft.replacement) { try draft.replacement.finish() }
        let written = FileContent(
            identity: identity, bytes: draft.bytes, entries: draft.entries.stored(as: draft.format), format: draft.format,
            lookedAt: isUnmistakable ? .distantFuture : draft.time)
        remains.withLock { $0.content = false }
        note(written)
        return written.entries
    }

    /// Does a step of a replacement, and notes what is left if it fails.
    private func noting<Result>(_ replacement: FileReplacement?, _ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch {
            let isInPlace = replacement?.isInPlace ?? false
            remains.withLock { $0 = Remains(temporaries: true, content: $0.content || isInPlace) }
            throw error
        }
    }
}
