public import Foundation

/// A separate folder, removed when the test releases it.
public final class TemporaryFolder: Sendable {
    /// Its location, with symbolic links resolved.
    public let url: URL

    /// Creates an empty folder in the system's temporary folder, or in `base`.
    public init(in base: URL = FileManager.default.temporaryDirectory) throws {
        url = base.resolvingSymlinksInPath().appendingPathComponent("ObservableStorage-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    /// Creates an empty folder on the fastest file system: in memory, if available.
    public static func inMemory() throws -> TemporaryFolder {
        let memory = URL(fileURLWithPath: "/dev/shm")
        return try FileManager.default.isWritableFile(atPath: memory.path) ? TemporaryFolder(in: memory) : TemporaryFolder()
    }

    deinit {
        ProcessEnd.remove { [url] in
            // A test may have removed the folder itself.
            _ = try? FileManager.default.removeItem(at: url)
        }
    }

    /// The path of a file in the folder.
    public func path(_ name: String) -> String {
        file(name).path
    }

    /// The URL of a file in the folder.
    public func file(_ name: String) -> URL {
        url.appendingPathComponent(name, isDirectory: false)
    }
}

/// Closes a file that was locked by its descriptor: closed alone, it would stay locked in a child that another test has just forked.
public func unlockAndClose(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
}
