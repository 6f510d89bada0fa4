import Dispatch
import Foundation
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("FileLock", .timeLimit(.minutes(10))) struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Whether the lock file of a name can be locked immediately.
    private func isFree(_ name: String) throws -> Bool {
        let descriptor = open(folder.path(name), O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0)
        defer { unlockAndClose(descriptor) }
        return flock(descriptor, LOCK_EX | LOCK_NB) == 0
    }

    @Test("A time limit without an end is none")
    func endless() throws {
        let attempts = Lock(0)
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            let isFirst = attempts.withLock { attempts in
                attempts += 1
                return attempts == 1
            }
            if isFirst { throw SystemError(EWOULDBLOCK) }
            try FileSystemCalls.live.lock(descriptor)
        }
        try FileLock.withLock(for: folder.path("a.plist"), timeout: .seconds(Int64.max), calls: calls) {}
        #expect(attempts.withLock { $0 } == 2)
    }

    @Test("The result and the errors of the body are returned, and the lock is released")
    func result() throws {
        let path = folder.path("list")
        let result = try FileLock.withLock(for: path, timeout: .zero) { () throws -> Int in
            #expect(try !isFree(".list.lock"))
            return 5
        }
        #expect(result == 5)
        #expect(try isFree(".list.lock"))
        #expect(throws: CancellationError.self) { try FileLock.withLock(for: path, timeout: .zero) { throw CancellationError() } }
        #expect(try isFree(".list.lock"))
        #expect(try folder.names() == [".list.lock"])
    }

    @Test("Threads are mutually exclusive")
    func threads() throws {
        let path = try folder.make("list", "0")
        let inside = Lock(0)
        let errors = Lock<[any Error]>([])
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            do {
                for _ in 0..<25 {
                    try FileLock.withLock(for: path, timeout: .seconds(50)) { () throws in
                        #expect(
                            inside.withLock {
                                $0 += 1; return $0
                            } == 1)
                        let content = try #require(try FileSystemCalls.live.readFile(at: path))
                        let count = try #require(Int(String(decoding: content.bytes, as: UTF8.self)))
                        _ = try FileSystemCalls.live.write(Data("\(count + 1)".utf8), to: path)
                        inside.withLock { $0 -= 1 }
                    }
                }
            } catch {
                errors.withLock { $0.append(error) }
            }
        }
        #expect(errors.withLock { $0.isEmpty }, "\(errors.withLock { $0 })")
        #expect(try folder.text("list") == "200")
        #expect(try folder.names() == [".list.lock", "list"])
    }

    @Test("Processes are mutually exclusive")
    func processes() throws {
        let path = folder.path("list")
        let script = """
            import fcntl, sys
            file = open(sys.argv[1], "r+")
            sys.stdin.readline()
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                print("taken", flush=True)
            except BlockingIOError:
                print("refused", flush=True)
            sys.stdin.readline()
            fcntl.flock(file, fcntl.LOCK_EX)
            print("taken", flush=True)
            sys.stdin.readline()
            fcntl.flock(file, fcntl.LOCK_UN)
            print("free", flush=True)
            """
        try folder.make(".list.lock", "")
        let other = try Conversation("python3", ["-c", script, folder.path(".list.lock")])
        try FileLock.withLock(for: path, timeout: .zero) { () throws in
            #expect(try other.ask() == "refused")
        }
        #expect(try other.ask() == "taken")
        #expect(throws: StorageError.locked(file: path, waited: .milliseconds(20))) {
            try FileLock.withLock(for: path, timeout: .milliseconds(20)) {}
        }
        // It releases the lock while another process waits.
        let answers = Lock<[Result<String, any Error>]>([])
        var calls = FileSystemCalls.live
        calls.pause = { _ in
            if answers.withLock({ $0.isEmpty }) {
                let answer = Result { try other.ask() }
                answers.withLock { $0.append(answer) }
            }
        }
        #expect(try FileLock.withLock(for: path, timeout: .seconds(50), calls: calls) { true })
        #expect(try answers.withLock { try $0.map { try $0.get() } } == ["free"])
        try other.end()
    }

    @Test("A process that is killed releases the lock")
    func killed() throws {
        try folder.make(".list.lock", "")
        let script =
            "import fcntl, sys; file = open(sys.argv[1]); sys.stdin.readline(); fcntl.flock(file, fcntl.LOCK_EX); print('taken', flush=True); sys.stdin.readline()"
        let other = try Conversation("python3", ["-c", script, folder.path(".list.lock")])
        #expect(try other.ask() == "taken")
        #expect(try !isFree(".list.lock"))
        try other.kill()
        #expect(try FileLock.withLock(for: folder.path("list"), timeout: .zero) { true })
    }

    @Test("Waiting ends with an error that names the property list and the time, without running the body")
    func timeout() throws {
        let path = folder.path("list")
        try FileLock.withLock(for: path, timeout: .zero) { () throws in
            let start = ContinuousClock.now
            #expect(throws: StorageError.locked(file: path, waited: .milliseconds(30))) {
                try FileLock.withLock(for: path, timeout: .milliseconds(30)) { Issue.record("inside") }
            }
            #expect(start.duration(to: .now) >= .milliseconds(30))
            #expect(throws: StorageError.locked(file: path, waited: .zero)) {
                try FileLock.withLock(for: path, timeout: .zero) { Issue.record("inside") }
            }
        }
    }

    @Test("Waiting starts with short pauses, and none is longer than five milliseconds or the remaining time")
    func pauses() throws {
        let path = folder.path("list")
        let pauses = Lock<[Duration]>([])
        let interruption = Interruption()
        var calls = FileSystemCalls.live
        calls.pause = { duration in
            let count = pauses.withLock { pauses in
                pauses.append(duration)
                return pauses.count
            }
            FileSystemCalls.live.pause(duration)
            if count == 3 { interruption.request(.suspension) }
        }
        _ = try FileLock.withLock(for: path, timeout: .zero) { () throws in
            #expect(throws: StorageError.suspended(file: path)) {
                try Interruption.$current.withValue(interruption) {
                    try FileLock.withLock(for: path, timeout: .seconds(500), calls: calls) {}
                }
            }
            let taken = pauses.withLock { $0 }
            #expect(taken.count == 3 && taken[0] <= .microseconds(200))
            #expect(taken.allSatisfy { $0 > .zero && $0 <= .milliseconds(5) })
            pauses.withLock { $0 = [] }
            #expect(throws: StorageError.self) { try FileLock.withLock(for: path, timeout: .milliseconds(40), calls: calls) {} }
        }
        // On a busy machine, there may be no time left for a pause.
        let taken = pauses.withLock { $0 }
        #expect(taken.allSatisfy { $0 > .zero && $0 <= .milliseconds(5) })
        #expect(taken.reduce(.zero, +) <= .milliseconds(40))
    }

    @Test("A lock file that is removed while it is awaited is not the one that is locked")
    func removed() throws {
        let path = folder.path("list")
        try folder.make(".list.lock", "")
        let old = open(folder.path(".list.lock"), O_RDWR)
        try #require(flock(old, LOCK_EX | LOCK_NB) == 0)
        let isOpen = Lock(true)
        var calls = FileSystemCalls.live
        calls.pause = { _ in
            if isOpen.withLock({ isOpen in
                defer { isOpen = false }; return isOpen
            }) {
                unlink(folder.path(".list.lock"))
                close(old)
            }
        }
        try FileLock.withLock(for: path, timeout: .seconds(50), calls: calls) { () throws in
            #expect(try folder.names() == [".list.lock"])
            #expect(try !isFree(".list.lock"))
        }
        #expect(isOpen.withLock { !$0 })
    }

    @Test("A lock file that is replaced each time it is locked ends the waiting at the time limit")
    func replacedForever() throws {
        let path = folder.path("list")
        var calls = FileSystemCalls.live
        calls.lock = { descriptor throws(SystemError) in
            try FileSystemCalls.live.lock(descriptor)
            unlink(folder.path(".list.lock"))
        }
        #expect(throws: StorageError.locked(file: path, waited: .milliseconds(5))) {
            try FileLock.withLock(for: path, timeout: .milliseconds(5), calls: calls) {}
        }
    }

    /// A file whose lock is held, and a waiter for it.
    private struct Queue {
        private let folder: TemporaryFolder
        let path: String
        let lock: String
        let holder: Int32
        let arrived = Recorder<Int32>()

        init(_ folder: TemporaryFolder) throws {
            self.folder = folder
            path = try folder.make("list")
            lock = try folder.make(".list.lock", "")
            holder = open(lock, O_RDWR | O_CLOEXEC)
            try #require(flock(holder, LOCK_EX | LOCK_NB) == 0)
        }

        var calls: FileSystemCalls {
            var calls = FileSystemCalls.live
            calls.awaitLock = { [arrived] descriptor throws(SystemError) in
                arrived.record(descriptor)
                try FileSystemCalls.live.awaitLock(descriptor)
            }
            return calls
        }

        func letGo() {
            unlockAndClose(holder)
        }
    }

    @Test(
        "The lock is granted in the order of the requests",
        .enabled(if: FileManager.default.fileExists(atPath: "/proc/locks")))
    func turns() throws {
        // There, the device of a file is that of its locks, which it needs to be told apart from files with its number elsewhere.
        let folder = try TemporaryFolder.inMemory()
        let queue = try Queue(folder)
        let identity = try folder.status(".list.lock").identity
        let (major, minor) = (identity.device >> 8 & 0xfff, identity.device & 0xff | identity.device >> 12 & 0xf_ff00)
        let file = String(format: " %02llx:%02llx:%llu ", major, minor, identity.inode)
        let served = Lock<[Int]>([])
        let ends = DispatchGroup()
        for number in 0..<8 {
            ends.enter()
            Thread.detachNewThread {
                do {
                    try FileLock.withLock(for: queue.path, timeout: .seconds(250), calls: queue.calls) {
                        served.withLock { $0.append(number) }
                    }
                } catch {
                    Issue.record(error)
                }
                ends.leave()
            }
            // Each is in the kernel's queue before the next one arrives. Not awaited: tasks of other tests would run in between.
            while try String(contentsOfFile: "/proc/locks", encoding: .utf8).split(separator: "\n").count(where: {
                $0.contains("->") && $0.contains(file)
            }) <= number {
                sched_yield()
            }
        }
        queue.letGo()
        ends.wait()
        #expect(served.withLock { $0 } == Array(0..<8))
    }

    @Test("A short wait does not look whether others make progress, because that takes their time")
    func shortWait() throws {
        try folder.make(".list.lock", "")
        let holder = try FileHandle(forUpdating: folder.file(".list.lock"))
        try #require(flock(holder.fileDescriptor, LOCK_EX) == 0)
        let looks = Lock<[String]>([])
        var calls = FileSystemCalls.live
        calls.pause = { _ in _ = flock(holder.fileDescriptor, LOCK_UN) }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            looks.withLock { $0.append(path.name) }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        let wasContended = try FileLock.withLock(
            for: ResolvedPath(splitting: folder.path("list")), timeout: .seconds(500), calls: calls
        ) { $0.wasContended }
        #expect(wasContended && looks.withLock { $0.contains(".list.lock") && !$0.contains(".list.journal") })
    }

    @Test("Waiting continues beyond the time limit while others make progress")
    func progress() throws {
        // On a busy machine, a short time may be over before the thread has looked for the first time.
        for timeout in [Duration.milliseconds(50), .milliseconds(500), .seconds(5)] {
            if try isGranted(beyond: timeout) { return }
        }
        Issue.record("each wait ended at its time limit")
    }

    private func isGranted(beyond timeout: Duration) throws -> Bool {
        let queue = try Queue(TemporaryFolder())
        let hasLetGo = Lock(false)
        let start = ContinuousClock.now
        var calls = queue.calls
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            // Previous holders of the lock replace the list at each check, and release the lock after the time limit.
            if path.path == queue.path, !queue.arrived.elements.isEmpty {
                do { try Disk.replace(queue.path, "new") } catch { Issue.record(error) }
                let isLate = start.duration(to: .now) > timeout
                let letsGo = hasLetGo.withLock { hasLetGo in
                    defer { hasLetGo = hasLetGo || isLate }
                    return isLate && !hasLetGo
                }
                if letsGo { queue.letGo() }
            }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        do {
            try FileLock.withLock(for: queue.path, timeout: timeout, calls: calls) {}
        } catch StorageError.locked {
            if !hasLetGo.withLock({ $0 }) { queue.letGo() }
            return false
        }
        return start.duration(to: .now) > timeout
    }

    @Test("A waiter that gives up keeps its turn for the next one of the process, and releases it if there is none")
    func turnThatWasLeft() throws {
        let queue = try Queue(folder)
        // Three times, and more often on a busy machine, where the time may be over before an attempt begins to wait.
        for attempt in 1... {
            #expect(throws: StorageError.locked(file: queue.path, waited: .milliseconds(10))) {
                try FileLock.withLock(for: queue.path, timeout: .milliseconds(10), calls: queue.calls) {}
            }
            guard attempt < 3 || queue.arrived.elements.isEmpty else { break }
            try #require(attempt < 1000)
        }
        queue.letGo()
        #expect(try FileLock.withLock(for: queue.path, timeout: .seconds(50), calls: queue.calls) { true })
        #expect(queue.arrived.elements.count <= 2)
    }

    @Test("A waiter for a lock file that was replaced is not continued")
    func turnForReplacedFile() throws {
        let queue = try Queue(folder)
        // On a busy machine, the time may be over before an attempt begins to wait.
        while queue.arrived.elements.isEmpty {
            #expect(throws: StorageError.self) {
                try FileLock.withLock(for: queue.path, timeout: .milliseconds(10), calls: queue.calls) {}
            }
        }
        try Disk.remove(queue.lock)
        let other = try FileHandle(forUpdating: URL(fileURLWithPath: folder.make(".list.lock", "")))
        try #require(flock(other.fileDescriptor, LOCK_EX) == 0)
        var calls = FileSystemCalls.live
        calls.awaitLock = { descriptor throws(SystemError) in
            _ = flock(other.fileDescriptor, LOCK_UN)
            try FileSystemCalls.live.awaitLock(descriptor)
        }
        #expect(try FileLock.withLock(for: queue.path, timeout: .seconds(500), calls: calls) { true })
        queue.letGo()
    }

    @Test("A waiter that acquires the lock after it gave up, or while it does, releases it", arguments: [false, true])
    func turnThatNobodyTakes(isLate: Bool) throws {
        let queue = try Queue(folder)
        let acquired = DispatchSemaphore(value: 0)
        let letGo = { @Sendable in
            queue.letGo()
            acquired.wait()
        }
        let start = ContinuousClock.now
        let (limits, looks) = (Recorder<Int>(), Recorder<Int>())
        var calls = queue.calls
        calls.awaitLock = { [calls] descriptor throws(SystemError) in
            try calls.awaitLock(descriptor)
            acquired.signal()
        }
        // While it is in the kernel's queue, its time limit passes from one look at the clock to the next.
        calls.uptime = {
            if !queue.arrived.elements.isEmpty { limits.record(0) }
            return start + .seconds(limits.elements.count)
        }
        calls.statusOfPath = { path, followsLinks throws(SystemError) in
            if path.path == queue.path, !queue.arrived.elements.isEmpty {
                looks.record(0)
                // The last look: it gives up if nothing has changed since the first one.
                if isLate, looks.elements.count == 2 { letGo() }
            }
            return try FileSystemCalls.live.statusOfPath(path, followsLinks)
        }
        #expect(throws: StorageError.locked(file: queue.path, waited: .milliseconds(500))) {
            try FileLock.withLock(for: queue.path, timeout: .milliseconds(500), calls: calls) {}
        }
        if !isLate { letGo() }
        while try !isFree(".list.lock") { try #require(!Task.isCancelled) }
    }

    @Test("An abandoned waiter is released after it has acquired the lock")
    func abandonedWaiter() throws {
        let queue = try Queue(folder)
        let released = DispatchSemaphore(value: 0)
        do {
            let witness = ObservationToken { released.signal() }
            var calls = queue.calls
            calls.awaitLock = { [calls] descriptor throws(SystemError) in
                try withExtendedLifetime(witness) { () throws(SystemError) in try calls.awaitLock(descriptor) }
            }
            // On a busy machine, the time may be over before an attempt begins to wait.
            while queue.arrived.elements.isEmpty {
                #expect(throws: StorageError.self) {
                    try FileLock.withLock(for: queue.path, timeout: .milliseconds(10), calls: calls) {}
                }
            }
        }
        queue.letGo()
        #expect(released.wait(timeout: .now() + .seconds(500)) == .success)
    }

    @Test("A waiter in the kernel's queue that is interrupted does not wait until its time limit")
    func interruptedWaiter() throws {
        let queue = try Queue(folder)
        let interruption = Interruption()
        var calls = FileSystemCalls.live
        calls.awaitLock = { descriptor throws(SystemError) in
            interruption.request(.suspension)
            try FileSystemCalls.live.awaitLock(descriptor)
        }
        #expect(throws: StorageError.suspended(file: queue.path)) {
            try Interruption.$current.withValue(interruption) {
                // Longer than the time limit of the tests.
                try FileLock.withLock(for: queue.path, timeout: .seconds(5_000), calls: calls) {}
            }
        }
        queue.letGo()
    }

    #if os(Linux)
        /// A dying process does not unlock: its descriptors are closed.
        private var callsOfDying: FileSystemCalls {
            var calls = FileSystemCalls.live
            calls.unlock = { _ throws(SystemError) in }
            return calls
        }

        @Test("A forked child does not keep the lock of a parent that died")
        func forked() throws {
            let path = try folder.make("list")
            let child = try FileLock.withLock(for: path, timeout: .zero, calls: callsOfDying) { () throws in
                let child = try ForkedChild()
                #expect(try !isFree(".list.lock"))
                return child
            }
            // Another test may just be forking a child, which closes it soon.
            while try !isFree(".list.lock") { try #require(!Task.isCancelled) }
            withExtendedLifetime(child) {}
        }

        @Test("A forked child closes locked files whose descriptors have large numbers", arguments: [5_000, 9_000])
        func forkedWithLargeDescriptor(least: Int32) throws {
            let opened = open(try folder.make("file"), O_RDWR | O_CLOEXEC)
            let descriptor = fcntl(opened, F_DUPFD_CLOEXEC, least)
            close(opened)
            // The limit of this process may be lower.
            guard descriptor >= 0 else { return }
            try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
            FileLock.register(descriptor)
            let child = try ForkedChild()
            FileLock.release(descriptor, calls: callsOfDying)
            while try !isFree("file") { try #require(!Task.isCancelled) }
            withExtendedLifetime(child) {}
        }
    #endif
}
