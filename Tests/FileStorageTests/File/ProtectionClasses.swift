import Foundation
import TestSupport

@testable import ObservableStorage

/// The protection classes of the files of a fake system, by their inode numbers.
final class ProtectionClasses: Sendable {
    private let numbers = Lock<[UInt64: Int32]>([:])
    /// The system calls that concern a class or a name, in their order.
    let events = Lock<[String]>([])
    /// The mappings that exist.
    let mappings = Lock<[UInt: Int]>([:])
    private let failure: Int32?
    private let usual: Int32?

    /// - Parameters:
    ///   - usual: the class of files for which none was set; nil for a system without protection.
    ///   - failure: the error of setting one.
    init(usual: Int32? = nil, failure: Int32? = nil) {
        (self.usual, self.failure) = (usual, failure)
    }

    subscript(path: String) -> Int32? {
        get { number { stat(path, &$0) } }
        set { if let inode = Self.inode({ stat(path, &$0) }) { numbers.withLock { $0[inode] = newValue } } }
    }

    private func number(_ call: (inout stat) -> Int32) -> Int32? {
        Self.inode(call).flatMap { inode in numbers.withLock { $0[inode] } } ?? usual
    }

    private static func inode(_ call: (inout stat) -> Int32) -> UInt64? {
        var status = stat()
        return call(&status) == 0 ? UInt64(status.st_ino) : nil
    }

    /// Takes the pages of every mapping away, as locking the device does: whoever uses one is ended.
    func takePagesAway() {
        for (start, size) in mappings.withLock({ $0 }) { mprotect(UnsafeMutableRawPointer(bitPattern: start), size, PROT_NONE) }
    }

    var calls: FileSystemCalls {
        var calls = FileSystemCalls.live
        calls.protectionClass = { descriptor in self.number { fstat(descriptor, &$0) } }
        calls.setProtectionClass = { descriptor, number throws(SystemError) in
            self.events.withLock { $0.append("class \(number)") }
            if let failure = self.failure { throw SystemError(failure) }
            if let inode = Self.inode({ fstat(descriptor, &$0) }) { self.numbers.withLock { $0[inode] = number } }
        }
        calls.writeBytes = { descriptor, bytes throws(SystemError) in
            self.events.withLock { $0.append("write") }
            return try FileSystemCalls.live.writeBytes(descriptor, bytes)
        }
        calls.renameFile = { old, new throws(SystemError) in
            self.events.withLock { $0.append("rename") }
            try FileSystemCalls.live.renameFile(old, new)
        }
        calls.map = { descriptor, size throws(SystemError) in
            let start = try FileSystemCalls.live.map(descriptor, size)
            self.mappings.withLock { $0[UInt(bitPattern: start)] = size }
            return start
        }
        calls.unmap = { start, size in
            self.mappings.withLock { _ = $0.removeValue(forKey: UInt(bitPattern: start)) }
            FileSystemCalls.live.unmap(start, size)
        }
        return calls
    }
}
