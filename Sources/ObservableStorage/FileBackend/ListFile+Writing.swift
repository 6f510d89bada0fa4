import FoundationSubset
import PropertyListCoding

/// Edited content that was written beside a property list, and only has to be renamed.
struct ListDraft {
    let target: ResolvedPath
    let replacement: FileReplacement
    let bytes: Data
    let entries: StorageEntries
    let format: PropertyListFormat
    /// A time before it was written.
    let time: Date
    /// The errors to report after it is in place.
    var reports: [StorageError] = []
}

extension ListFile {
    /// Writes encoded entries beside the file; returns nil if the file was replaced meanwhile, or its folder had to be made.
    func draft(
        of entries: StorageEntries, _ bytes: Data, as format: PropertyListFormat, over found: FileContent, at target: ResolvedPath
    ) throws -> ListDraft? {
        guard bytes.count <= FileSystemCalls.largestFileSize else {
            throw StorageError.unwritable(file: name, reason: "\(bytes.count) bytes are more than could be read again")
        }
        let time = calls.now()
        let replacement = try recording(failureOf: nil) {
            try calls.prepareReplacement(of: target, with: bytes, over: found.identity, protection: configuration.protection)
        }
        return replacement.map {
            ListDraft(target: target, replacement: $0, bytes: bytes, entries: entries, format: format, time: time)
        }
    }

    /// Waits until a renamed draft is on the medium; without the lock, because the next edit waits for it as well.
    func finish(_ draft: ListDraft) throws -> StorageEntries {
        let (identity, isUnmistakable) = try recording(failureOf: draft.replacement) { try draft.replacement.finish() }
        let written = FileContent(
            identity: identity, bytes: draft.bytes, entries: draft.entries.stored(as: draft.format), format: draft.format,
            lookedAt: isUnmistakable ? .distantFuture : draft.time)
        leftovers.withLock { $0.content = false }
        cache(written)
        returnFreedMemory(afterListOf: draft.bytes.count)
        return written.entries
    }

    /// Renames a draft to the path; returns false if the file has changed.
    ///
    /// - Parameter isReported: whether the change is reported to the store that watches the list.
    func rename(_ draft: ListDraft, isReported: Bool = false) throws(StorageError) -> Bool {
        guard !isReported, let watcher = currentWatch?.watcher else { return try draft.replacement.replace() }
        var isReplaced = false
        try watcher.session.withoutEvents { () throws(StorageError) in
            isReplaced = try draft.replacement.replace()
            return isReplaced ? draft.replacement.written : nil
        }
        return isReplaced
    }

    /// Removes a draft that was not renamed.
    func discard(_ draft: ListDraft) {
        if !draft.replacement.discard() { leftovers.withLock { $0.temporaries = true } }
    }

    /// Runs a step of a replacement, and records the remaining files if it fails.
    func recording<Result>(failureOf replacement: FileReplacement?, _ step: () throws -> Result) throws -> Result {
        do {
            return try step()
        } catch {
            let isInPlace = replacement?.isInPlace ?? false
            leftovers.withLock { ($0.temporaries, $0.content) = (true, $0.content || isInPlace) }
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

    // MARK: Encoding

    func encode(
        _ entries: StorageEntries, over found: FileContent, as format: PropertyListFormat
    ) throws(StorageError) -> (Data, PropertyListFormat) {
        do {
            let document = found.format == format ? found.bytes : nil
            return (try entries.encoded(as: format, editing: document, of: found.entries), format)
        } catch  where format != .binary && configuration.formatPolicy == .binaryWhenNecessary {
            return try encode(entries, over: found, as: .binary)
        } catch {
            throw rejection(of: entries, format: format, because: error)
        }
    }

    /// The value as it will be read back: as represented in the format that the file had when it was last read or written.
    func storable(_ value: PropertyListValue, for key: String) throws(StorageError) -> PropertyListValue {
        let format = format
        guard format != .binary, configuration.formatPolicy == .keep else { return value }
        if let rejection = rejection(of: value, for: key, format: format) { throw rejection }
        return value.rounded(for: format)
    }

    /// The reason why a format cannot represent an entry; nil if it can.
    func rejection(of value: PropertyListValue, for key: String, format: PropertyListFormat) -> StorageError? {
        do {
            _ = try PropertyListValue.dictionary([key: value]).encoded(as: format)
            return nil
        } catch {
            let codecs = ["date": "store them with the codec .iso8601, or ", "data": "store it with the codec .base64, or "]
            let (formatName, remedy) =
                switch format {
                case .binary: ("binary", "")
                case .xml: ("XML", " (convert the file to binary, or open it with a policy that does so)")
                case .json: ("JSON", " (\(error.refusedType.flatMap { codecs[$0] } ?? "")convert the file to XML or binary)")
                }
            return .unencodable(key: key, reason: "\(name) is \(formatName), and \(error.reason)\(remedy)")
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
