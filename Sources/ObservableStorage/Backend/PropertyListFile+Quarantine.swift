import Foundation

extension PropertyListFile {
    private static let keptQuarantines = 3

    /// Moves a bad file aside. Called under its lock.
    func quarantine(_ path: String) throws(StorageError) {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
        let quarantine = QuarantineName(of: URL(fileURLWithPath: path).lastPathComponent)
        let name = quarantine.name(at: Date())
        do throws(SystemError) {
            try calls.uninterrupted { () throws(SystemError) in try calls.renameFile(path, folder.appendingPathComponent(name).path) }
        } catch {
            throw .unwritable(file: self.name, reason: "moving the bad file aside: \(error.reason)")
        }
        removeOldest(quarantine, in: folder, besides: name)
    }

    /// Keeps the newest of the files that were moved aside, and among them always the one that just was.
    private func removeOldest(_ quarantine: QuarantineName, in folder: URL, besides newest: String) {
        do {
            let others = try calls.list(folder.path).filter { $0 != newest && quarantine.matches($0) }
            for name in others.sorted().dropLast(Self.keptQuarantines - 1) {
                try calls.removeFile(folder.appendingPathComponent(name).path)
            }
        } catch {
            // The bad file is safe and the store can open; one copy too many does no harm.
        }
    }
}
