public import Foundation

/// A folder of a test's own, removed when the test lets go of it.
public final class TemporaryFolder: Sendable {
    /// Where it is, every symbolic link resolved.
    public let url: URL

    /// Makes an empty folder below the system's temporary folder, or below `base`.
    public init(in base: URL = FileManager.default.temporaryDirectory) throws {
        url = base.resolvingSymlinksInPath().appendingPathComponent("ObservableStorage-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Makes an empty folder where writing costs least: in memory, if the system has a place for that.
    public static func inMemory() throws -> TemporaryFolder {
        let memory = URL(fileURLWithPath: "/dev/shm")
        return try FileManager.default.isWritableFile(atPath: memory.path) ? TemporaryFolder(in: memory) : TemporaryFolder()
    }

    deinit {
        // A test may have taken the folder away itself.
        _ = try? FileManager.default.removeItem(at: url)
    }

    /// The path of a file in the folder.
    public func path(_ name: String) -> String {
        file(name).path
    }

    /// The place of a file in the folder.
    public func file(_ name: String) -> URL {
        url.appendingPathComponent(name, isDirectory: false)
    }
}
