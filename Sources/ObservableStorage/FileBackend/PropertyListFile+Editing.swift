import FoundationSubset
package import PropertyListCoding

extension PropertyListFile {
    /// Runs an edit on the file's entries, and replaces the file if the edit changed something.
    ///
    /// The new file is written without the lock, which is held only to compare the file with the one that was edited, and to rename. If the
    /// file has changed, the edit runs again: without the lock up to three times, or under it if others wait for it.
    ///
    /// - Throws: what the edit throws; ``StorageError`` if the file cannot be locked, read or written.
    public func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try edit(CommitOptions(), body)
    }

    /// Runs an edit as ``edit(_:)`` does, for a commit of a store.
    package func edit(_ options: CommitOptions, _ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        func edit() throws -> StorageEntries { try self.edit(as: nil, options, body) }
        return try options.isReported ? edit() : journal.withoutEvents(edit)
    }

    /// Runs an edit and writes it into the property list, for every program to read, before the caller ends.
    package func editList(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        let entries = try edit(body)
        do {
            try checkpoint()
        } catch let error as StorageError where journal.isKnown {
            // It is in the journal: a caller that took it for failed would repeat it.
            throw error.with(.logged)
        }
        return entries
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

    /// Replays the edits of dead stores.
    func editReplaying(timeout: Duration? = nil) throws -> StorageEntries {
        try edit(as: nil, isLocked: true, timeout: timeout) { _ in }
    }

    private func edit(
        as newFormat: PropertyListFormat?, _ options: CommitOptions = CommitOptions(), isLocked: Bool = false, timeout: Duration? = nil,
        _ body: (inout StorageEntries) throws -> Void
    ) throws -> StorageEntries {
        if isReadOnly { throw StorageError.readOnly(file: name) }
        let entries = try journal.edit(as: newFormat, options, isLocked: isLocked, timeout: timeout, body)
        if journal.isTooLong, list.lock.resource == nil {
            do {
                try checkpoint()
            } catch {
                // The edit is durable.
                list.reports.report([.writing(name, error)])
            }
        }
        if let newFormat { try checkpoint(as: newFormat) }
        return entries
    }

    // MARK: Checkpoints

    /// Writes a property list with everything that is in the journal, unless another process has done so; returns when it is durable.
    ///
    /// - Parameter newFormat: the format to write; nil for that of the list.
    func checkpoint(as newFormat: PropertyListFormat?) throws {
        guard !isReadOnly else { return }
        if try !journal.withoutEvents({ try journal.checkpoint(as: newFormat) }) { try synchronizeJournal() }
    }
}
