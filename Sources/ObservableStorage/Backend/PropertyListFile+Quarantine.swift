import Foundation

extension PropertyListFile {
    private static let keptQuarantines = 3

    /// Moves the bad file aside under its lock and starts empty, unless it has become readable meanwhile.
    func quarantine(because error: StorageError) throws(StorageError) -> FileContent {
        do {
            return try withFileLock { path in
                do throws(StorageError) {
                    return try settledContent(last: nil)
                } catch .malformed {
                    try moveAside(path)
                    return .missing
                }
            }
        } catch {
            throw StorageError.writing(name, error)
        }
    }

    private func moveAside(_ path: String) throws {
        let file = URL(fileURLWithPath: path)
        let prefix = file.lastPathComponent + ".corrupt-"
        let folder = file.deletingLastPathComponent()
        let quarantine = folder.appendingPathComponent(prefix + Self.timestamp())
        try FileManager.default.moveItem(at: file, to: quarantine)
        let earlier = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(prefix) }.sorted()
        for name in earlier.dropLast(Self.keptQuarantines) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }

    /// The time in UTC, to the microsecond, so that names sort by age and no two are the same.
    private static func timestamp() -> String {
        Date().ISO8601Format(.init(includingFractionalSeconds: true)).replacingOccurrences(of: ":", with: "")
            .replacingOccurrences(of: "-", with: "")
    }
}
