import FoundationSubset
import PropertyListCoding

extension JournalFile {
    /// Makes a journal, in place of another one if there is any, durably, under the lock of the list.
    ///
    /// - Parameters:
    ///   - first: the revision before the first record.
    ///   - earlier: the journal that it continues; nil if it replaces none, or one that is not read.
    ///   - status: the status of the list, whose owner and permissions it gets.
    /// - Returns: nil if another writer has added to the earlier journal, or has replaced it.
    static func make(
        of list: ResolvedPath, history: UInt64, first: UInt64, _ records: [JournalRecord], insteadOf earlier: JournalState?,
        besides status: FileStatus?, protection: FileProtection?, calls: FileSystemCalls
    ) throws(StorageError) -> (file: JournalFile, records: JournalRecords)? {
        let path = list.journal
        return try calls.writing(list.path, "making its journal \(path.path)") { () throws(SystemError) in
            let folder = try calls.openFolder(of: list)
            defer { calls.discard(folder) }
            var step = ""
            let temporary = try TemporaryFile.make(beside: list, successorOf: status, calls: calls, step: &step)
            let descriptor = temporary.descriptor
            do throws(SystemError) {
                try calls.setProtection(of: descriptor, besides: list, orTo: protection)
                calls.excludeFromBackups(descriptor)
                let inode = try calls.status(of: descriptor).identity.inode
                let location = JournalFormat.location(of: list, in: try calls.status(of: folder).identity)
                let header = JournalHeader(
                    history: history, seed: calls.random(), first: first, inode: inode, location: location, boot: calls.boot)
                var (bytes, written) = (header.bytes, JournalRecords(from: JournalHeader.size, after: header.chain))
                for record in records {
                    do throws(PropertyListError) {
                        try written.append(record, to: &bytes)
                    } catch {
                        // They were in a journal before.
                        throw SystemError(EILSEQ)
                    }
                }
                try calls.writeAll(bytes + Data(count: JournalFormat.room), to: descriptor, at: 0)
                try calls.uninterrupted { () throws(SystemError) in try calls.synchronize(descriptor) }
                let rename = { () throws(SystemError) in
                    try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(temporary.path, path) }
                }
                if let earlier {
                    guard try earlier.file.exclusively(after: earlier.end, rename) else {
                        calls.discardFile(temporary.path)
                        calls.discard(descriptor)
                        return nil
                    }
                } else {
                    try rename()
                }
                calls.releaseLock(descriptor)
                try calls.synchronizeFolder(folder)
                let file = JournalFile(
                    of: list, header, inode: inode, location: location, descriptor, madeBesides: status, synchronizedTo: written.end,
                    calls: calls)
                return (file, written)
            } catch {
                calls.discardFile(temporary.path)
                calls.discard(descriptor)
                throw error
            }
        }
    }
}
