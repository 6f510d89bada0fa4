import FoundationSubset
import PropertyListCoding

/// Edits in a journal that were made together; the history is that of the journal.
struct JournalCommit: Sendable, Equatable {
    /// The writer of commits of this process.
    static let thisProcess = "\(ProcessInfo.processInfo.processName) (\(getpid()))"
    /// The writer of a list that another program has put in place.
    static let otherProgram = "another program"

    let revision: UInt64
    let edits: [String: StorageCommit.Edit]
    var time: Date?
    var writer: String?

    /// Whether the body of a record is that of a commit.
    static func isValid(_ body: UnsafeRawBufferPointer) -> Bool {
        var reader = LogReader(body, isChecking: true)
        return reader.number(UInt64.self) != nil && reader.bytes() != nil && reader.readEdits { _, _, _ in } != nil
    }

    /// Adds the values that were set, and nil for those that were removed, to those of earlier commits.
    func apply(to values: inout EntryEdits) {
        for (key, edit) in edits { values.updateValue(edit.newValue, forKey: key) }
    }

    /// Adds the body of its record to the data.
    func write(to data: inout Data) throws(PropertyListError) {
        data.append(8 + (writer ?? "").loggedSize) { log in
            log.put((time?.timeIntervalSinceReferenceDate ?? .nan).bitPattern)
            log.put(writer ?? "")
        }
        try data.append(edits)
    }
}

extension JournalCommit {
    /// Creates a commit from the body of a record, which is valid.
    init(revision: UInt64, _ body: UnsafeRawBufferPointer) {
        var reader = LogReader(body)
        let (time, writer) = (reader.number(UInt64.self).map(Double.init(bitPattern:)) ?? .nan, reader.text() ?? "")
        self.init(
            revision: revision, edits: reader.edits() ?? [:], time: time.isNaN ? nil : Date(timeIntervalSinceReferenceDate: time),
            writer: writer.isEmpty ? nil : writer)
    }
}
