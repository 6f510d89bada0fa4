import Foundation

extension AtomicFile {
    private static let mostAttempts = 20

    /// Reads a file whole, with the identity of exactly what was read; nothing if there is no file.
    ///
    /// A file that changes meanwhile is read again, for some tens of milliseconds. Only regular files are read: nothing
    /// ever waits for the other end of a pipe.
    ///
    /// - Throws: ``StorageError/unreadable(file:reason:)``
    static func read(path: String, calls: FileSystemCalls = .live) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        for attempt in 0..<mostAttempts {
            if attempt > 0 {
                calls.pause(.milliseconds(2))
            }
            guard let descriptor = try open(path, calls: calls) else { return nil }
            defer { calls.discard(descriptor) }
            if let content = try content(of: descriptor, path: path, calls: calls) {
                return content
            }
        }
        throw .unreadable(file: path, reason: "it keeps changing while it is read")
    }

    private static func open(_ path: String, calls: FileSystemCalls) throws(StorageError) -> Int32? {
        do throws(SystemError) {
            // Without O_NONBLOCK, opening a pipe would wait for its writer.
            return try calls.openFile(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)
        } catch let error where error.isMissing {
            return nil
        } catch {
            throw .unreadable(file: path, reason: objection(to: path, calls: calls) ?? error.reason)
        }
    }

    /// What is wrong with a path that cannot be opened, where its kind says more than the system does.
    private static func objection(to path: String, calls: FileSystemCalls) -> String? {
        do throws(SystemError) {
            return try calls.uninterrupted { () throws(SystemError) in try calls.statusOfPath(path, true) }.kind.objection
        } catch {
            // The first error is the one to report.
            return nil
        }
    }

    /// The content of an open file; nothing if it changed while it was read.
    private static func content(
        of descriptor: Int32, path: String, calls: FileSystemCalls
    ) throws(StorageError) -> (bytes: Data, identity: FileIdentity)? {
        let before = try reading(path) { () throws(SystemError) in try calls.status(of: descriptor) }
        if let objection = before.kind.objection {
            throw .unreadable(file: path, reason: objection)
        }
        guard before.identity.size <= largestSize else {
            throw .unreadable(file: path, reason: "it has \(before.identity.size) bytes; \(largestSize) are read at most")
        }
        let size = Int(before.identity.size)
        let bytes = try reading(path) { () throws(SystemError) in try Self.bytes(of: descriptor, expected: size, calls: calls) }
        let after = try reading(path) { () throws(SystemError) in try calls.status(of: descriptor) }
        return bytes.count == size && after.identity == before.identity ? (bytes, before.identity) : nil
    }

    /// What a file holds from its beginning on, as far as was expected, or one byte more if it has grown.
    private static func bytes(of descriptor: Int32, expected size: Int, calls: FileSystemCalls) throws(SystemError) -> Data {
        // Asking for one byte more shows growth, without following a file that goes on growing, and without a call for its end.
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: size + 1, alignment: 16)
        var count = 0
        do throws(SystemError) {
            repeat {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count...])
                let more = try calls.uninterrupted { () throws(SystemError) in try calls.readBytes(descriptor, rest) }
                guard more > 0 else { break }
                count += more
            } while count < size
        } catch {
            buffer.deallocate()
            throw error
        }
        guard let start = buffer.baseAddress else { return Data() }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in start.deallocate() })
    }

    private static func reading<Result>(
        _ path: String, _ body: () throws(SystemError) -> Result
    ) throws(StorageError) -> Result {
        do throws(SystemError) {
            return try body()
        } catch {
            throw .unreadable(file: path, reason: error.reason)
        }
    }
}
