import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@Suite("Several processes that write one file", .timeLimit(.minutes(10)))
struct SeveralWritersTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
    }

    @Test("Eight processes increment one key to exactly the sum, and print each number once")
    func increments() async throws {
        let each = isLong ? 250 : 25
        let loop = "i=0; while [ $i -lt \(each) ]; do \"$0\" increment \"$1\" n || exit; i=$((i+1)); done"
        let counters = try (0..<8).map { _ in
            try RunningProgram("/bin/sh", ["-c", loop, Subprocess.executable("prefs").path, file])
        }
        var printed: [Int] = []
        for counter in counters {
            #expect(try await counter.status == 0)
            #expect(counter.errors.elements.isEmpty)
            printed += counter.lines.elements.compactMap { Int($0) }
        }
        #expect(printed.sorted() == Array(1...(8 * each)))
        #expect(try await tool("read", file, "n").text == "\(8 * each)\n")
    }

    @Test(
        "They do so while another process keeps removing the lock file, as programs that clean up temporary folders do",
        arguments: [false, true])
    func removedLockFiles(isJournaled: Bool) async throws {
        if isJournaled {
            let store = try ObservableStore(at: URL(fileURLWithPath: file), journal: .full())
            try await store.update { $0[StorageKey("made", default: false)] = true }
            try await store.close()
        }
        let lock = folder.path(".settings.plist.lock")
        let isOver = Recorder<Void>()
        let removals = Recorder<Void>()
        Thread.detachNewThread {
            while isOver.elements.isEmpty {
                if unlink(lock) == 0 { removals.record(()) }
                usleep(500)
            }
        }
        defer { isOver.record(()) }
        try await increments()
        // On a busy machine, the processes may end before there were some.
        while removals.elements.count <= 10 {
            try FileManager.default.removeItem(atPath: file)
            try await increments()
        }
    }

    @Test("Each of many waiting processes gets its turn")
    func crowd() async throws {
        let (writers, each) = isLong ? (200, 10) : (50, 2)
        let loop = "i=0; while [ $i -lt \(each) ]; do \"$0\" increment \"$1\" n || exit; i=$((i+1)); done"
        let processes = try (0..<writers).map { _ in
            try RunningProgram("/bin/sh", ["-c", loop, Subprocess.executable("prefs").path, file])
        }
        for writer in processes {
            #expect(try await writer.status == 0)
            #expect(writer.errors.elements.isEmpty)
        }
        #expect(try await tool("read", file, "n").text == "\(writers * each)\n")
    }

    @Test("Eight processes that each write 100 different keys leave all 800")
    func manyKeys() async throws {
        let writers = try (0..<8).map { try RunningProgram("Peer", ["set-many", file, "writer\($0).", "100"]) }
        for writer in writers { #expect(try await writer.status == 0) }
        let entries = try PropertyListFile(at: URL(fileURLWithPath: file)).load().values
        #expect(Set(entries.keys) == Set((0..<8).flatMap { writer in (0..<100).map { "writer\(writer).\($0)" } }))
    }

    @Test("The last of many changes is observed, revisions only increase, and nothing written meanwhile is lost")
    func twoStores() async throws {
        let last = isLong ? 10_000 : 500
        let store = try ObservableStore(at: URL(fileURLWithPath: file))
        let changes = store.changes(of: StorageKey("theirs", default: 0))
        let peer = try RunningProgram("Peer", ["count", file, "theirs", "\(last)"])
        var revision: UInt64 = 0
        var value = 0
        var own: [String: Int] = [:]
        for await change in changes {
            #expect(change.revision > revision && change.newValue > value && change.oldValue == value && change.origin == .external)
            (revision, value) = (change.revision, change.newValue)
            own["mine\(value % 50)"] = value
            try store.set(value, for: StorageKey("mine\(value % 50)", default: 0))
            if value == last { break }
        }
        #expect(try await peer.status == 0)
        try await store.flush()
        let entries = try PropertyListFile(at: URL(fileURLWithPath: file)).load().values
        #expect(entries["theirs"] == .integer(PropertyListInteger(Int64(last))))
        #expect(entries.filter { $0.key.hasPrefix("mine") } == own.mapValues { .integer(PropertyListInteger(Int64($0))) })
    }

    @Test("A watch that starts during changes prints the current value and then each newer one, none twice")
    func watchStarts() async throws {
        let peer = try RunningProgram("Peer", ["count", file, "n", "\(Int.max)"])
        for _ in 0..<20 {
            let watch = try await tool("watch", file, "n", "--initial", "--json", "--count", "10")
            let changes = try watch.text.split(separator: "\n").map { try PrintedChange(String($0)) }
            #expect(changes.count == 10 && changes.first?.kind == "initial")
            for (earlier, later) in zip(changes, changes.dropFirst()) {
                #expect(later.old == earlier.new && later.revision > earlier.revision)
            }
        }
        peer.signal(SIGKILL)
        #expect(try await peer.status == -SIGKILL)
    }

    @Test("A value that a program sets before it returns from main is on disk")
    func setAndReturn() async throws {
        #expect(try await Subprocess.finished("Peer", ["set", file, "key", "value"]).status == 0)
        #expect(try await tool("read", file, "key").text == "value\n")
    }
}
