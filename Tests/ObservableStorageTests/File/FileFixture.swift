import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

extension TemporaryFolder {
    /// The sorted names of the files in the folder.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).sorted()
    }

    /// Creates a file with the given content and permissions, and returns its path.
    @discardableResult
    func make(_ name: String, _ content: String = "old", permissions: mode_t = 0o600) throws -> String {
        try Data(content.utf8).write(to: file(name))
        try #require(chmod(path(name), permissions) == 0)
        return path(name)
    }

    /// Creates a symbolic link and returns its path.
    @discardableResult
    func link(_ name: String, to target: String) throws -> String {
        try FileManager.default.createSymbolicLink(atPath: path(name), withDestinationPath: target)
        return path(name)
    }

    /// Creates a folder inside, and returns its path.
    @discardableResult
    func makeFolder(_ name: String) throws -> String {
        try FileManager.default.createDirectory(atPath: path(name), withIntermediateDirectories: true)
        return path(name)
    }

    /// Creates a named pipe.
    func makePipe(_ name: String) throws -> String {
        try #require(mkfifo(path(name), 0o600) == 0)
        return path(name)
    }

    /// The content of a file, as text.
    func text(_ name: String) throws -> String {
        try String(contentsOf: file(name), encoding: .utf8)
    }

    /// The status of a name, without following links.
    func status(_ name: String) throws -> FileStatus {
        try #require(try FileSystemCalls.live.status(at: path(name)))
    }
}

extension ResolvedPath {
    /// Resolves a path, relative to the working directory.
    init(_ path: String) throws(StorageError) {
        try self.init(AbsolutePath(path))
    }
}

extension FileSystemCalls {
    /// Replaces the content of a file, whatever it is.
    @discardableResult
    func write(_ bytes: Data, to target: ResolvedPath) throws(StorageError) -> FileIdentity {
        while true {
            let base = try FileIdentity(path: target.path)
            guard let replacement = try prepareReplacement(of: target, with: bytes, over: base) else { continue }
            defer { replacement.discard() }
            if try replacement.replace() { return try replacement.finish().identity }
        }
    }

    /// Replaces the content of the file that a path leads to.
    @discardableResult
    func write(_ bytes: Data, to path: String) throws(StorageError) -> FileIdentity {
        try write(bytes, to: ResolvedPath(path))
    }
}

extension PropertyListFile {
    /// A file whose pauses for other programs, such as one that has moved the file away for a moment, take no time.
    convenience init(
        withoutPausesAt url: URL, onCorruption: CorruptionPolicy = .refuse, onDeletion: DeletionPolicy = .removeAll
    ) {
        self.init(at: url, onCorruption: onCorruption, lockTimeout: .seconds(500), onDeletion: onDeletion, calls: .withoutPauses)
    }
}

extension FileSystemCalls {
    /// The system's, with pauses that take no time.
    static var withoutPauses: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.pause = { _ in }
        return calls
    }
}

extension FileLock {
    /// Runs a closure while other writers of the file that a path leads to are locked out.
    static func withLock<Result>(
        for path: String, timeout: Duration, calls: FileSystemCalls = .live, body: () throws -> Result
    ) throws -> Result {
        try withLock(for: ResolvedPath(path), timeout: timeout, calls: calls) { _ in try body() }
    }
}

/// Whether the tests run as the superuser.
let isSuperuser = geteuid() == 0
