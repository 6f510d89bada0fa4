import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

extension TemporaryFolder {
    /// Creates a named pipe.
    func makePipe(_ name: String) throws -> String {
        try #require(mkfifo(path(name), 0o600) == 0)
        return path(name)
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
            // Its folder may just have been created.
            let target = try ResolvedPath(target.path)
            let base = try FileIdentity(at: target)
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

extension FileSystemCalls {
    /// The content of the file that a path leads to.
    func readFile(at path: String) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        try readFile(at: ResolvedPath(splitting: path), followsLinks: true)
    }

    /// The status of a file, without following a link in the last component.
    func status(at path: String) throws(SystemError) -> FileStatus? {
        try status(at: ResolvedPath(splitting: path))
    }
}

extension FileLock {
    /// Runs a closure while other writers of the file that a path leads to are locked out.
    static func withLock<Result>(
        for path: String, timeout: Duration, calls: FileSystemCalls = .live, body: () throws -> Result
    ) throws -> Result {
        var target = try ResolvedPath(path)
        if try calls.makeFolderIfMissing(of: target) { target = try ResolvedPath(path) }
        return try withLock(for: target, timeout: timeout, calls: calls) { _ in try body() }
    }
}

/// Whether the tests run as the superuser.
let isSuperuser = geteuid() == 0

extension FileIdentity {
    /// The identity of an open file.
    init(descriptor: Int32) throws(StorageError) {
        self = try FileSystemCalls.live.reading("descriptor \(descriptor)") { () throws(SystemError) in
            try FileSystemCalls.live.status(of: descriptor).identity
        }
    }

    /// The identity of the file to which a path leads; nil if there is none.
    init?(path: String) throws(StorageError) {
        try self.init(at: ResolvedPath(splitting: path), followsLinks: true)
    }
}
