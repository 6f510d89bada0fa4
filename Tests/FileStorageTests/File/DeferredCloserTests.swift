import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Deferred closing of files", .timeLimit(.minutes(10))) struct DeferredCloserTests {
    private let queue = DispatchQueue(label: "DeferredCloserTests")

    @Test("Files wait to be closed up to a maximum; one more is closed immediately")
    func bound() {
        let closed = Lock<[Int32]>([])
        let closer = DeferredCloser(queue: queue, delay: .nanoseconds(0), maximumWaiting: 2) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        queue.suspend()
        for descriptor in 1...4 as ClosedRange<Int32> { closer.closeLater(descriptor) }
        #expect(closed.withLock { $0 } == [3, 4])
        queue.resume()
        queue.sync {}
        #expect(closed.withLock { $0 } == [3, 4, 1, 2])
    }

    @Test("After its files are closed, more files can wait")
    func again() {
        let closed = Lock<[Int32]>([])
        let closer = DeferredCloser(queue: queue, delay: .nanoseconds(0), maximumWaiting: 1) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        for descriptor in 1...3 as ClosedRange<Int32> {
            queue.suspend()
            closer.closeLater(descriptor)
            #expect(closed.withLock { $0.contains(descriptor) } == false)
            queue.resume()
            queue.sync {}
        }
        #expect(closed.withLock { $0 } == [1, 2, 3])
    }

    @Test("A file is not closed before its time, unless the maximum is exceeded")
    func delay() {
        let closed = Lock<[Int32]>([])
        let closer = DeferredCloser(queue: queue, delay: .seconds(100_000), maximumWaiting: 1) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        for descriptor in 1...2 as ClosedRange<Int32> { closer.closeLater(descriptor) }
        queue.sync {}
        #expect(closed.withLock { $0 } == [2])
    }

    @Test("Files that wait at the same time are closed together, at the time of the first one")
    func together() {
        let closed = Lock<[Int32]>([])
        let timers = DispatchQueue(label: "DeferredCloserTests.timers")
        let closer = DeferredCloser(queue: timers, delay: .nanoseconds(0), maximumWaiting: 16) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        timers.suspend()
        for descriptor in 1...3 as ClosedRange<Int32> { closer.closeLater(descriptor) }
        timers.resume()
        timers.sync {}
        #expect(closed.withLock { $0 } == [1, 2, 3])
    }

    @Test("Waiting files are closed once each if their space is needed, and so is a later file with the same descriptor")
    func closeWaiting() {
        let closed = Lock<[Int32]>([])
        let closer = DeferredCloser(queue: queue, delay: .seconds(100_000), maximumWaiting: 2) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        #expect(!closer.closeWaiting())
        for round in 1...2 {
            for descriptor in 1...2 as ClosedRange<Int32> { closer.closeLater(descriptor) }
            #expect(closer.closeWaiting())
            #expect(closed.withLock { $0.sorted() } == [1, 2].flatMap { [Int32](repeating: $0, count: round) })
        }
        #expect(!closer.closeWaiting())
    }

    @Test("A file closed before its time is not closed again at that time: its descriptor may belong to another file")
    func closedBefore() {
        let closed = Lock<[Int32]>([])
        let closer = DeferredCloser(queue: queue, delay: .seconds(100_000), maximumWaiting: 2) { descriptor in
            closed.withLock { $0.append(descriptor) }
        }
        closer.closeLater(1)
        _ = closer.closeWaiting()
        queue.sync { closer.closeAll() }
        #expect(closed.withLock { $0 } == [1])
    }

    @Test(
        "Running out of descriptors or space closes the waiting files, and fails if there are none",
        arguments: [EMFILE, ENFILE, ENOSPC, EDQUOT], ["open", "write"])
    func shortage(_ code: Int32, _ name: String) throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let waiting = Lock(1)
        let recorder = CallRecorder { _, called in called == name && waiting.withLock { $0 } > 0 ? code : nil }
        var calls = recorder.calls
        #expect(throws: StorageError.self) { try calls.write(Data("new".utf8), to: path) }
        calls.closeWaiting = {
            waiting.withLock { waiting in
                waiting -= 1
                return waiting >= 0
            }
        }
        _ = try calls.write(Data("new".utf8), to: path)
        #expect(try Data(contentsOf: folder.file("list")) == Data("new".utf8))
        #expect(recorder.openDescriptors.isEmpty)
    }

    @Test("A replaced file is kept open during the rename, and closed later, after the folder was synchronized")
    func replacement() throws {
        let folder = try TemporaryFolder()
        let path = try folder.make("list")
        let inode = try #require(try FileIdentity(path: path)).inode
        let steps = Lock<[String]>([])
        let live = FileSystemCalls.live
        var calls = live
        calls.renameFile = { from, to throws(SystemError) in
            steps.withLock { $0.append("rename") }
            try live.renameFile(from, to)
        }
        calls.synchronize = { descriptor throws(SystemError) in
            steps.withLock { $0.append("synchronize") }
            try live.synchronize(descriptor)
        }
        let held = Lock<UInt64?>(nil)
        calls.closeLater = { descriptor in
            steps.withLock { $0.append("close later") }
            do throws(SystemError) {
                let identity = try live.statusOfDescriptor(descriptor).identity
                held.withLock { $0 = identity.inode }
                try live.closeDescriptor(descriptor)
            } catch {
                Issue.record(error)
            }
        }
        _ = try calls.write(Data("new".utf8), to: path)
        #expect(steps.withLock { $0 } == ["synchronize", "rename", "synchronize", "close later"])
        #expect(held.withLock { $0 } == inode)
    }
}
