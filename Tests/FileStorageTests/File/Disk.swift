import Foundation

@testable import ObservableStorage

/// File operations of other programs.
enum Disk {
    /// The content of a file; nil if there is none.
    static func read(_ path: String) -> String? {
        // Not with Foundation, whose descriptor could be inherited by a child that another test starts.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        do {
            return try file.readToEnd().map { String(decoding: $0, as: UTF8.self) } ?? ""
        } catch {
            return nil
        }
    }

    /// Writes in place, and closes.
    static func write(_ path: String, _ content: String) throws {
        try Data(content.utf8).write(to: URL(fileURLWithPath: path))
    }

    /// Writes as many bytes in place, with another modification time.
    static func overwrite(_ path: String, _ content: String) {
        let descriptor = open(path, O_WRONLY | O_CLOEXEC)
        _ = content.withCString { pwrite(descriptor, $0, content.utf8.count, 0) }
        close(descriptor)
        touch(path)
    }

    /// Changes the times of a file, each time to others.
    static func touch(_ path: String) {
        let time = timeval(tv_sec: Int(uniqueNumber()), tv_usec: 0)
        utimes(path, [time, time])
    }

    /// Replaces the old file with a new one.
    static func replace(_ path: String, _ content: String) throws {
        let other = path + ".new"
        try write(other, content)
        try move(other, path)
    }

    /// Renames, replacing an existing file.
    static func move(_ source: String, _ target: String) throws {
        guard rename(source, target) == 0 else { throw CocoaError(.fileWriteUnknown, userInfo: [NSFilePathErrorKey: target]) }
    }

    static func remove(_ path: String) throws {
        try FileManager.default.removeItem(atPath: path)
    }

    static func makeFolder(_ path: String) throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    /// Writes a file and creates its folder if necessary.
    static func writeDeep(_ path: String, _ content: String) throws {
        try makeFolder(URL(fileURLWithPath: path).deletingLastPathComponent().path)
        try write(path, content)
    }

    /// Replaces a folder with a file.
    static func replaceFolder(_ path: String, _ content: String) throws {
        try remove(path)
        try write(path, content)
    }

    /// Creates a symbolic link.
    static func link(_ path: String, to target: String) throws {
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
    }

    /// Replaces a symbolic link with another.
    static func relink(_ path: String, to target: String) throws {
        try link(path + ".new", to: target)
        try move(path + ".new", path)
    }

    /// Creates a hard link.
    static func hardLink(_ path: String, to target: String) throws {
        try FileManager.default.linkItem(atPath: target, toPath: path)
    }
}
