import Foundation
import PropertyListCoding

extension PropertyListFile {
    // A writer in place leaves the file half written for as long as it writes: this is how long one is waited for.
    private static let patience: Duration = .milliseconds(250)
    // Editors that move the old file away before they write the new one are done in less, on a busy machine too.
    private static let grace: Duration = .milliseconds(500)
    private static let pause: Duration = .milliseconds(10)
    private static let recently: TimeInterval = 1

    /// What the file holds now: what was seen last if the file is still the same, or else read anew.
    ///
    /// - Parameter path: the path given, or under the lock the real one.
    func content(at path: String) throws(StorageError) -> FileContent {
        let last = lastSeen.withLock { $0 }
        if let last, !last.isYoung, last.identity == (try FileIdentity(path: path, calls: calls)) { return last }
        let content = try settledContent(at: path, last: last)
        note(content)
        return content
    }

    /// Reads the file, several times while it is bad and was modified just now, or has gone a moment ago.
    private func settledContent(at path: String, last: FileContent?) throws(StorageError) -> FileContent {
        var waited: Duration = .zero
        while true {
            do throws(StorageError) {
                let content = try readContent(at: path, last: last)
                guard content.identity == nil, last?.identity != nil, waited < Self.grace else { return content }
            } catch .malformed(let file, let offset, let reason, _) {
                guard waited < Self.patience, let identity = try FileIdentity(path: path, calls: calls),
                    identity.age(at: calls.now()) < Self.recently
                else { throw .malformed(file: file, offset: offset, reason: reason) }
            }
            calls.pause(Self.pause)
            waited += Self.pause
        }
    }

    private func readContent(at path: String, last: FileContent?) throws(StorageError) -> FileContent {
        let time = calls.now()
        guard let (bytes, identity) = try AtomicFile.read(path: path, calls: calls) else { return .missing }
        if let last, last.identity != nil {
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
