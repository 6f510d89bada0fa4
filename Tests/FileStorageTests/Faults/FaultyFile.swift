import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// A file whose calls fail according to a plan, in a separate folder.
struct FaultyFile: Sendable {
    let folder: TemporaryFolder
    let path: String
    let target: String
    let old: [String: PropertyListValue]
    let plan = FaultPlan()

    /// Creates or removes the property list.
    init(_ situation: WritingSituation) throws {
        folder = try .inMemory()
        (path, target) = try situation.prepare(in: folder)
        old = situation.hasOld ? ["count": 1, "kept": "as it was"] : [:]
        if situation.hasOld {
            try PropertyListValue.dictionary(old).encoded(as: .binary).write(to: folder.file(target))
        }
    }

    /// A store for it, opened before anything fails.
    func open() throws -> ObservableStore {
        try ObservableStore(backend: UnwatchedFile(backend()))
    }

    func backend(onCorruption: CorruptionPolicy = .refuse) -> PropertyListFile {
        PropertyListFile(
            at: URL(fileURLWithPath: path),
            configuration: .with { ($0.onCorruption, $0.lockTimeout) = (onCorruption, .seconds(60)) }, calls: plan.calls)
    }

    /// The entries that another process reads, with calls that do not fail.
    func stored() throws -> [String: PropertyListValue] {
        try PropertyListFile(at: URL(fileURLWithPath: path)).load().values
    }

    /// Whether an error names the file, by the given or the resolved path.
    func isNamed(in error: any Error) -> Bool {
        [path, folder.path(target)].contains { String(describing: error).contains($0) }
    }

    /// The names of all files below the folder, except the lock.
    func files() throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).filter {
            try !$0.hasSuffix(".lock") && folder.status($0).kind == .file
        }
    }
}

/// How a call fails.
struct Fault: Sendable, CustomTestStringConvertible {
    let code: Int32
    /// Whether all later calls fail as well: to the disk, this looks like the death of the process.
    let isLasting: Bool

    static let all =
        [EIO, EINTR].map { Fault(code: $0, isLasting: false) } + [Fault(code: ENOSPC, isLasting: true)]
        + (isLong ? [Fault(code: ENOSPC, isLasting: false), Fault(code: EIO, isLasting: true), Fault(code: EACCES, isLasting: true)] : [])

    var testDescription: String {
        "\(SystemError(code).reason), \(isLasting ? "from then on" : "once")"
    }

    /// Makes the call at an index fail.
    func at(_ failing: Int) -> FaultPlan.Fault {
        { index, name in
            // A completed call is not interrupted.
            guard code != EINTR || name != "answer to rename" else { return nil }
            return index == failing || (isLasting && index > failing) ? code : nil
        }
    }
}
