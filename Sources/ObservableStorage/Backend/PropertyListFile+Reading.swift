import Foundation
import Synchronization

extension PropertyListFile {
    // A writer in place leaves the file half written for as long as it writes: this is how long one is waited for.
    private static let readings = 25
    private static let pause: Duration = .milliseconds(10)
    private static let recently: TimeInterval = 1

    /// What the file holds now: what was seen last if the file is still the same, or else read anew.
    func content() throws(StorageError) -> FileContent {
        let last = lastSeen.withLock { $0 }
        if let last, !last.isYoung, last.identity == (try FileIdentity(path: name, calls: calls)) { return last }
        let content: FileContent
        do throws(StorageError) {
            content = try settledContent(last: last)
        } catch .malformed(let file, let offset, let reason) where last == nil && onCorruption == .quarantine {
            content = try quarantine(because: .malformed(file: file, offset: offset, reason: reason))
        }
        lastSeen.withLock { $0 = content }
        return content
    }

    /// Reads the file, several times while it is bad and was modified just now.
    func settledContent(last: FileContent?) throws(StorageError) -> FileContent {
        var reading = 1
        while true {
            guard let (bytes, identity) = try AtomicFile.read(path: name, calls: calls) else { return .missing }
            if let last, last.identity != nil, last.bytes == bytes {
                return FileContent(identity: identity, bytes: last.bytes, entries: last.entries, format: last.format)
            }
            do throws(StorageError) {
                return try FileContent(bytes: bytes, identity: identity, file: name)
            } catch {
                guard reading < Self.readings, identity.age < Self.recently else { throw error }
            }
            reading += 1
            calls.pause(Self.pause)
        }
    }
}
