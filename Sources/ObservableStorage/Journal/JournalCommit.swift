import FoundationSubset
import PropertyListCoding

/// Edits in a journal that were made together; the history is that of the journal.
struct JournalCommit: Sendable, Equatable {
    /// The writer of commits of this process.
    static let thisProcess = "\(ProcessInfo.processInfo.processName) (\(getpid()))"
    /// The writer of a list that another program has put in place.
    static let otherProgram = "another program"

    let revision: UInt64
    private let content: Content

    private enum Content {
        indirect case decoded(Details)
        /// The valid body of a record. Of a journal's commits, opening needs little: with decoded ones, `open.journal` takes 1.5 times as long.
        case encoded([UInt8])
    }

    typealias Details = (edits: [String: StorageCommit.Edit], time: Date?, writer: String?)

    init(revision: UInt64, edits: [String: StorageCommit.Edit], time: Date? = nil, writer: String? = nil) {
        self.init(revision: revision, (edits, time, writer))
    }

    private init(revision: UInt64, _ details: Details) {
        (self.revision, content) = (revision, .decoded(details))
    }

    /// Creates a commit from the body of a record; nil if that is not valid.
    init?(revision: UInt64, _ body: UnsafeRawBufferPointer) {
        var reader = LogReader(body, isChecking: true)
        guard reader.skipOrigin(), reader.readEdits({ _, _, _ in }) != nil else { return nil }
        (self.revision, content) = (revision, .encoded(Array(body)))
    }

    /// What was committed; decoded each time if it is encoded.
    var details: Details {
        switch content {
        case .decoded(let details): return details
        case .encoded(let body):
            return body.withUnsafeBytes { body in
                var reader = LogReader(body)
                let (time, writer) = reader.origin()
                return (reader.edits() ?? [:], time, writer)
            }
        }
    }

    var edits: [String: StorageCommit.Edit] { details.edits }

    static func == (left: JournalCommit, right: JournalCommit) -> Bool {
        left.revision == right.revision && left.details == right.details
    }

    /// An equal commit that is not encoded.
    var decoded: JournalCommit { JournalCommit(revision: revision, details) }

    /// Adds the values that were set, and nil for those that were removed, to those of earlier commits.
    func apply(to values: inout EntryEdits) {
        switch content {
        case .decoded(let details):
            for (key, edit) in details.edits { values.updateValue(edit.newValue, forKey: key) }
        case .encoded(let body):
            body.withUnsafeBytes { body in
                var reader = LogReader(body)
                guard reader.skipOrigin() else { return }
                _ = reader.readEdits { key, _, value in values.updateValue(value, forKey: key) }
            }
        }
    }

    /// Adds the body of its record to the data.
    func write(to data: inout Data) throws(PropertyListError) {
        if case .encoded(let body) = content {
            data += body
            return
        }
        let (edits, time, writer) = details
        data.append(8 + (writer ?? "").loggedSize) { log in
            log.put((time?.timeIntervalSinceReferenceDate ?? .nan).bitPattern)
            log.put(writer ?? "")
        }
        try data.append(edits)
    }
}

extension LogReader {
    /// The time and the writer of a commit.
    fileprivate mutating func origin() -> (time: Date?, writer: String?) {
        let (time, writer) = (number(UInt64.self).map(Double.init(bitPattern:)) ?? .nan, text() ?? "")
        return (time.isNaN ? nil : Date(timeIntervalSinceReferenceDate: time), writer.isEmpty ? nil : writer)
    }

    /// Skips what ``origin()`` reads; returns false if it is incomplete.
    fileprivate mutating func skipOrigin() -> Bool {
        number(UInt64.self) != nil && bytes() != nil
    }
}
