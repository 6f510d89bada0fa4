import FoundationSubset
import PropertyListCoding

// Writing the edits of the journal into its property list.
extension Journal {
    /// Writes a property list with everything that is in the journal, unless another process has done so; returns when it is durable.
    ///
    /// The list is encoded and written beside the old one without a lock, while edits go on. Under the lock it is announced in the journal,
    /// which is synchronized, and renamed: whichever list is found afterwards, the journal tells which edits it has.
    ///
    /// - Parameter newFormat: the format to write; nil for that of the list.
    /// - Returns: false if another process has written the edits, which still have to be synchronized.
    func checkpoint(as newFormat: PropertyListFormat?) throws -> Bool {
        for _ in 0..<Self.maximumAttempts {
            let target = try list.target()
            // Adds the edits of other stores, and the changes of other programs, to the journal first.
            guard let state = try upToDate(at: target), let entries = state.entries else { return true }
            try list.removeLeftovers(of: target)
            guard var found = try list.contentUnlessCorrupt(at: target) else { continue }
            guard let base = state.list(found) else {
                // If it was overwritten before the first look at it, the next look has to read it.
                if state.found == found.identity { remember(state.doubtingList()) }
                continue
            }
            // The last values of a deleted list may be known, but they are not in a file.
            if found.identity == nil { found = .missing(format: found.format) }
            guard state.needsCheckpoint || (newFormat ?? found.format) != found.format else {
                if state.end / 2 > keptSize { try settle(nil, at: target) }
                return true
            }
            var edited = found.entries.unedited
            for key in state.edits(since: base).keys { edited[key] = entries[key] }
            let (bytes, format) = try encoded(edited, over: found, as: newFormat)
            guard let draft = try list.draft(of: edited, bytes, as: format, over: found, at: target) else { continue }
            defer { list.discard(draft) }
            guard let written = draft.replacement.written else { continue }
            let announced = JournaledList(
                identity: written.recorded, checksum: JournalFormat.checksum(bytes), revision: state.revision, format: format)
            let isPlaced = try list.recording(failureOf: draft.replacement) {
                try withJournal(of: target) { _, current in
                    try replaceList(with: draft, announced, over: base, isForced: newFormat != nil, &current)
                }
            }
            guard let isPlaced else { continue }
            if isPlaced {
                _ = try list.finish(draft)
                try settle(announced, at: target)
            }
            return isPlaced
        }
        throw list.busyError
    }

    /// Another store may have committed a value that the format cannot represent: the list then becomes binary, or else it could never be written.
    private func encoded(
        _ entries: StorageEntries, over found: FileContent, as newFormat: PropertyListFormat?
    ) throws(StorageError) -> (Data, PropertyListFormat) {
        do throws(StorageError) {
            return try list.encode(entries, over: found, as: newFormat ?? found.format)
        } catch {
            guard newFormat == nil, found.format != .binary, case .unencodable = error else { throw error }
            return try list.encode(entries, over: found, as: .binary)
        }
    }

    /// Announces and renames a list, under the lock. It is recorded as placed only after the folder is synchronized: a power failure before
    /// that brings back the list that it replaced.
    ///
    /// - Returns: true if it is in place; false if another process has written the same edits; nil if it has to be tried again.
    private func replaceList(
        with draft: ListDraft, _ announced: JournaledList, over base: JournaledList, isForced: Bool, _ state: inout JournalState
    ) throws -> Bool? {
        guard var current = state.list(try FileIdentity(at: draft.target, calls: list.calls)) else { return nil }
        if !current.isSame(as: state.lists.first) {
            // The process that announced it was killed after renaming it, perhaps before that was durable.
            try synchronizeFolder(of: draft.target)
            // What is after its first record continues it.
            (current.isPlaced, current.isGap) = (true, false)
            guard try append([.list(current)], to: &state) else { return nil }
        }
        guard current.isSame(as: base), isForced || state.needsCheckpoint else {
            return isForced || state.needsCheckpoint && current.revision < announced.revision ? nil : false
        }
        // If a power failure keeps the list without its announcement, the list is taken for that of another program, but has the value of
        // each durable edit, unless there are later ones.
        let isRecognized = state.revision == announced.revision && state.file.isSynchronized(to: state.end)
        guard try append([.list(announced)], to: &state) else { return nil }
        if !isRecognized { try state.synchronize() }
        return try list.rename(draft) ? true : nil
    }
}
