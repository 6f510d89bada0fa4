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

    /// The sorted names of the files in the folder.
    public func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).sorted()
    }

    /// Creates a file with the given content and permissions, and returns its path.
    @discardableResult
    public func make(_ name: String, _ content: String = "old", permissions: mode_t = 0o600) throws -> String {
        try Data(content.utf8).write(to: file(name))
        try FileManager.default.setAttributes([.posixPermissions: Int(permissions)], ofItemAtPath: path(name))
        return path(name)
    }

    /// Creates a symbolic link and returns its path.
    @discardableResult
    public func link(_ name: String, to target: String) throws -> String {
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
        return path(name)
    }

    /// Creates a folder inside, and returns its path.
    @discardableResult
    public func makeFolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        return path(name)
    }

    /// The content of a file, as text.
    public func text(_ name: String) throws -> String {
        try String(contentsOf: file(name), encoding: .utf8)
    }
}

/// Closes a file that was locked by its descriptor: closed alone, it would stay locked in a child that another test has just forked.
public func unlockAndClose(_ descriptor: Int32) {
    flock(descriptor, LOCK_UN)
    close(descriptor)
}
