import Foundation
import TestSupport

@testable import ObservableStorage

/// The system calls, some of which fail on request of a test.
///
/// Content is written in small pieces, so that a write can also fail halfway.
final class FaultPlan: Sendable {
    /// Returns the error code of a failing call, by its index since the plan began and its name.
    typealias Fault = @Sendable (_ index: Int, _ name: String) -> Int32?

    private final class Schedule: Sendable {
        let state = Lock<(fault: Fault?, names: [String])>((nil, []))

        func failure(_ name: String) -> Int32? {
            let (fault, index) = state.withLock { state in
                state.names.append(name)
                return (state.fault, state.names.count - 1)
            }
            return fault?(index, name)
        }
    }

    private static let pieceSize = 24

    private let schedule: Schedule
    private let recorder: CallRecorder

    init() {
        let schedule = Schedule()
        self.schedule = schedule
        recorder = CallRecorder { _, name in schedule.failure(name) }
    }

    /// Starts failing calls.
    func begin(_ fault: @escaping Fault) {
        schedule.state.withLock { $0 = (fault, []) }
    }

    /// Stops failing calls; returns the names of those made since the start.
    @discardableResult
    func end() -> [String] {
        schedule.state.withLock { state in
            defer { state = (nil, []) }
            return state.names
        }
    }

    /// The files that were opened and not closed.
    var openDescriptors: Set<Int32> {
        recorder.openDescriptors
    }

    var calls: FileSystemCalls {
        var calls = recorder.calls
        let (write, rename) = (calls.writeBytes, calls.renameFile)
        calls.writeBytes = { descriptor, buffer throws(SystemError) in
            try write(descriptor, UnsafeRawBufferPointer(rebasing: buffer.prefix(Self.pieceSize)))
        }
        let schedule = schedule
        calls.renameFile = { from, to throws(SystemError) in
            try rename(from, to)
            // A file server may execute a request and still lose the reply.
            if let code = schedule.failure("answer to rename") { throw SystemError(code) }
        }
        calls.pause = { _ in }
        return calls
    }
}

/// A property-list file that is not watched, so that only the test makes calls.
final class UnwatchedFile: BlockingStorageBackend {
    let file: PropertyListFile

    init(_ file: PropertyListFile) {
        self.file = file
    }

    var name: String { file.name }

    func load() throws -> StorageEntries {
        try file.load()
    }

    func edit(_ body: (inout StorageEntries) throws -> Void) throws -> StorageEntries {
        try file.edit(body)
    }

    func watch(
        since revision: StorageRevision?, on queue: DispatchQueue, _ report: @escaping @Sendable (StorageEvent) -> Void
    ) -> ObservationToken {
        ObservationToken {}
    }
}
