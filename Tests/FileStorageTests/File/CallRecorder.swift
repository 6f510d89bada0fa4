import Foundation
import TestSupport

@testable import ObservableStorage

/// Makes and counts system calls; fails selected ones instead, and records which files were left open.
final class CallRecorder: Sendable {
    private struct State {
        var names: [String] = []
        var descriptors: Set<Int32> = []
    }

    /// Whether a call may change files. A process that is stopped at another one leaves the same files as at the next that may.
    static func changesFiles(_ name: String) -> Bool {
        ![
            "awaitLock", "checkWriting", "close", "list", "lock", "lockShared", "map", "mappingObjection", "read", "readAccessControlList",
            "readAt", "readLink", "statusOfDescriptor", "statusOfPath", "unlock", "untimedStatus", "workingFolder",
        ].contains(name)
    }

    /// The indices of the calls at which a test interrupts an action that makes these calls, see ``visitedSteps(of:every:)``.
    ///
    /// Calls are of one kind if their names are equal, and those of the last calls before them that may change files.
    static func visitedCalls(_ names: [String], ifChangingFiles: Bool = false) -> [Int] {
        var last = ""
        let kinds = names.map { name in
            defer { if changesFiles(name) { last = name } }
            return [name, last]
        }
        return visitedSteps(of: kinds, every: 4).filter { isLong || !ifChangingFiles || changesFiles(names[$0]) }
    }

    private let state = Lock(State())
    private let failure: (@Sendable (_ index: Int, _ name: String) -> Int32?)?

    /// - Parameter failure: the error code of a failing call, by its index and name.
    init(failure: (@Sendable (_ index: Int, _ name: String) -> Int32?)? = nil) {
        self.failure = failure
    }

    /// The names of the calls so far.
    var names: [String] {
        state.withLock { $0.names }
    }

    /// The files that were opened and not closed.
    var openDescriptors: Set<Int32> {
        state.withLock { $0.descriptors }
    }

    private func record(_ name: String) throws(SystemError) {
        let index = state.withLock { state in
            state.names.append(name)
            return state.names.count - 1
        }
        if let code = failure?(index, name) {
            throw SystemError(code)
        }
    }

    private func opened(_ descriptor: Int32) -> Int32 {
        state.withLock { _ = $0.descriptors.insert(descriptor) }
        return descriptor
    }

    /// A failing close closes the descriptor anyway, as in the system.
    private func closed(_ descriptor: Int32) {
        state.withLock { _ = $0.descriptors.remove(descriptor) }
    }

    var calls: FileSystemCalls {
        let live = FileSystemCalls.live
        var calls = live
        calls.openDescriptor = { path, flags, mode throws(SystemError) in
            try self.record("open")
            return self.opened(try live.openDescriptor(path, flags, mode))
        }
        calls.closeDescriptor = { descriptor throws(SystemError) in
            self.closed(descriptor)
            try live.closeDescriptor(descriptor)
            try self.record("close")
        }
        calls.closeLater = { descriptor in
            self.closed(descriptor)
            live.closeLater(descriptor)
        }
        // Files that other tests left to be closed do not affect the outcome of a failing call.
        calls.closeWaiting = { false }
        calls.readBytes = { descriptor, buffer throws(SystemError) in
            try self.record("read")
            return try live.readBytes(descriptor, buffer)
        }
        calls.workingFolder = { () throws(SystemError) in
            try self.record("workingFolder")
            return try live.workingFolder()
        }
        calls.writeBytes = { descriptor, buffer throws(SystemError) in
            try self.record("write")
            return try live.writeBytes(descriptor, buffer)
        }
        calls.readBytesAt = { descriptor, buffer, offset throws(SystemError) in
            try self.record("readAt")
            return try live.readBytesAt(descriptor, buffer, offset)
        }
        calls.writeBytesAt = { descriptor, buffer, offset throws(SystemError) in
            try self.record("writeAt")
            return try live.writeBytesAt(descriptor, buffer, offset)
        }
        calls.truncate = { descriptor, size throws(SystemError) in
            try self.record("truncate")
            try live.truncate(descriptor, size)
        }
        calls.synchronize = { descriptor throws(SystemError) in
            try self.record("synchronize")
            try live.synchronize(descriptor)
        }
        calls.synchronizeData = { descriptor throws(SystemError) in
            try self.record("synchronizeData")
            try live.synchronizeData(descriptor)
        }
        calls.statusOfDescriptor = { descriptor throws(SystemError) in
            try self.record("statusOfDescriptor")
            return try live.statusOfDescriptor(descriptor)
        }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            try self.record("statusOfPath")
            return try live.statusOfPath(path, followsLinks)
        }
        calls.untimedStatus = { folder, name throws(SystemError) in
            try self.record("untimedStatus")
            return try live.untimedStatus(folder, name)
        }
        calls.setOwner = { descriptor, owner, group throws(SystemError) in
            try self.record("setOwner")
            try live.setOwner(descriptor, owner, group)
        }
        calls.setPermissions = { descriptor, permissions throws(SystemError) in
            try self.record("setPermissions")
            try live.setPermissions(descriptor, permissions)
        }
        calls.readAccessControlList = { descriptor, buffer throws(SystemError) in
            try self.record("readAccessControlList")
            return try live.readAccessControlList(descriptor, buffer)
        }
        calls.writeAccessControlList = { descriptor, list throws(SystemError) in
            try self.record("writeAccessControlList")
            try live.writeAccessControlList(descriptor, list)
        }
        calls.setPermissionsOfPath = { path, permissions throws(SystemError) in
            try self.record("setPermissionsOfPath")
            try live.setPermissionsOfPath(path, permissions)
        }
        calls.setModificationTime = { descriptor, time throws(SystemError) in
            try self.record("setModificationTime")
            try live.setModificationTime(descriptor, time)
        }
        calls.makeFolder = { path, permissions throws(SystemError) in
            try self.record("makeFolder")
            try live.makeFolder(path, permissions)
        }
        calls.removeEmptyFolder = { path throws(SystemError) in
            try self.record("removeEmptyFolder")
            try live.removeEmptyFolder(path)
        }
        calls.checkWriting = { path throws(SystemError) in
            try self.record("checkWriting")
            try live.checkWriting(path)
        }
        calls.renameFile = { from, to throws(SystemError) in
            try self.record("rename")
            try live.renameFile(from, to)
        }
        calls.removeFile = { path throws(SystemError) in
            try self.record("remove")
            try live.removeFile(path)
        }
        calls.list = { folder throws(SystemError) in
            try self.record("list")
            return try live.list(folder)
        }
        calls.reserve = { descriptor, size throws(SystemError) in
            try self.record("reserve")
            try live.reserve(descriptor, size)
        }
        calls.map = { descriptor, size throws(SystemError) in
            try self.record("map")
            return try live.map(descriptor, size)
        }
        calls.mappingObjection = { descriptor throws(SystemError) in
            try self.record("mappingObjection")
            return try live.mappingObjection(descriptor)
        }
        calls.readLink = { path, buffer throws(SystemError) in
            try self.record("readLink")
            return try live.readLink(path, buffer)
        }
        calls.lock = { descriptor throws(SystemError) in
            try self.record("lock")
            try live.lock(descriptor)
        }
        calls.lockShared = { descriptor throws(SystemError) in
            try self.record("lockShared")
            try live.lockShared(descriptor)
        }
        calls.awaitLock = { descriptor throws(SystemError) in
            try self.record("awaitLock")
            try live.awaitLock(descriptor)
        }
        calls.unlock = { descriptor throws(SystemError) in
            try self.record("unlock")
            try live.unlock(descriptor)
        }
        return calls
    }
}

extension FileSystemCalls {
    /// These calls, with each status as it is changed by a closure: files of another owner, for example.
    func seeing(_ change: @escaping @Sendable (inout FileStatus) -> Void) -> FileSystemCalls {
        @Sendable func seen(_ found: FileStatus) -> FileStatus {
            var status = found
            change(&status)
            return status
        }
        var calls = self
        calls.statusOfDescriptor = { [statusOfDescriptor] descriptor throws(SystemError) in seen(try statusOfDescriptor(descriptor)) }
        calls.statusOfPath = { [statusOfPath] path, followsLinks throws(SystemError) in seen(try statusOfPath(path, followsLinks)) }
        calls.untimedStatus = { [untimedStatus] folder, name throws(SystemError) in seen(try untimedStatus(folder, name)) }
        return calls
    }
}
