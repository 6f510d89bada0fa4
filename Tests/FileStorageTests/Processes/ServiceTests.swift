import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

/// Stores in services: their stop, reload and crash.
@Suite("Services", .timeLimit(.minutes(10)))
struct ServiceTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private var stored: [String: PropertyListValue] {
        get throws { try PropertyListFile(at: file).load().values }
    }

    private func start(_ way: String) async throws -> RunningProgram {
        let service = try RunningProgram("Peer", ["service", way, file.path])
        try await service.line { $0 == "ready" }
        return service
    }

    @Test("A termination signal ends the process as by default, after its edits are written")
    func flush() async throws {
        let service = try await start("flush")
        #expect(try stored.isEmpty)
        service.signal(SIGTERM)
        #expect(try await service.status == -SIGTERM)
        #expect(try stored == ["count": 5])
    }

    @Test("The process ends in time if its edits cannot be written, and logs their keys")
    func stuck() async throws {
        let service = try await start("stuck")
        service.signal(SIGTERM)
        #expect(try await service.status == -SIGTERM)
        #expect(service.errors.elements.contains { $0.contains("the last edits are lost, of \"count\"") }, "\(service.errors.elements)")
    }

    @Test("A handler that the application installed before runs after the edits are written")
    func handler() async throws {
        let service = try await start("handler")
        service.signal(SIGTERM)
        #expect(try await service.status == 7)
        #expect(try stored == ["count": 5])
    }

    @Test("A signal that is ignored stays ignored")
    func ignored() async throws {
        let ended = try await Subprocess.finished("Peer", ["service", "ignored", file.path])
        #expect(ended.status == 0 && ended.text == "ignored\n", "\(ended.errors)")
    }

    @Test("A cancelled token restores the default action, which writes nothing")
    func undone() async throws {
        let service = try await start("undone")
        service.signal(SIGTERM)
        #expect(try await service.status == -SIGTERM)
        #expect(try stored.isEmpty && service.errors.elements.isEmpty)
    }

    @Test("A store that runs as a service is flushed and closed when its task is cancelled")
    func runAsService() async throws {
        let service = try await start("run")
        service.signal(SIGTERM)
        #expect(try await service.status == 0)
        #expect(service.lines.elements == ["ready", "closed"])
        #expect(try stored == ["count": 5])
    }

    @Test("Running returns when the store is closed")
    func closed() async throws {
        let store = try ObservableStore(at: file)
        let service = Task { try await store.run() }
        try await store.close()
        try await service.value
    }

    @Test("Running throws if the edits cannot be written, and the store stays open with them")
    func unwritable() async throws {
        let backend = UnreliableBackend()
        let store = try ObservableStore(backend: backend)
        let failure = StorageError.unwritable(file: "unreliable", reason: "full", edits: .kept)
        backend.fail(failure)
        let service = Task { try await store.run() }
        store[Keys.count] = 5
        service.cancel()
        await #expect(throws: failure) { try await service.value }
        backend.fail(nil)
        try await store.flush()
        #expect(try await backend.storage.load().values == ["count": 5])
    }

    @Test("A process that is killed loses nothing that was flushed, and the file is whole")
    func killed() async throws {
        for round in 1...3 {
            let peer = try RunningProgram("Peer", ["transactions", file.path, "count"])
            let printed = try await peer.lines(count: round * 20)
            peer.signal(SIGKILL)
            #expect(try await peer.status == -SIGKILL)
            // The last line may be cut off.
            let last = try #require(printed.last.flatMap { Int($0) })
            let count = try ObservableStore(at: file)[Keys.count]
            #expect(count >= last)
            let oracle = try Subprocess.run(
                "python3", ["-c", "import plistlib, sys; print(plistlib.load(open(sys.argv[1], 'rb'))['count'])", file.path])
            #expect(oracle.text == "\(count)\n", "\(oracle.errors)")
        }
    }

    @Test(
        "A suite is the file of that name in the configuration folder; an invalid one is kept, and logged once", arguments: [true, false])
    func suite(isReadable: Bool) async throws {
        let file = folder.file("app.example.plist")
        if !isReadable { try Data("bad".utf8).write(to: file) }
        let peer = try await Subprocess.finished("Peer", ["suite", "app.example"], environment: ["XDG_CONFIG_HOME": folder.url.path])
        #expect(peer.status == 0)
        #expect(peer.text == (isReadable ? "stored\n" : "refused\n"))
        if isReadable { #expect(try ObservableStore(at: file)[Keys.count] == 5) }
        let lines = peer.errors.split(separator: "\n")
        guard !isReadable else { return #expect(lines.isEmpty) }
        #expect(try Data(contentsOf: file) == Data("bad".utf8))
        #expect(Set(lines).count == lines.count)
        let start = "ObservableStorage: \(file.path): not a readable property list (line 1, column 1)"
        #expect(lines.allSatisfy { $0.hasPrefix(start) }, "\(lines)")
        let end = "; the last edits are kept in a log beside the file, and stored when it is next opened or written"
        #expect(lines.last?.hasSuffix(end) == true, "\(lines)")
        try PropertyListValue.dictionary(["text": "repaired"]).encoded(as: .xml).write(to: file, options: .atomic)
        #expect(try PropertyListFile(at: file).load().values == ["count": 5, "text": "repaired"])
    }

    @Test("In a process whose main queue runs on another thread, listeners of the main actor are called at once as well")
    func afterDispatchMain() async throws {
        let ended = try await Subprocess.finished("Peer", ["main-actor"])
        #expect(ended.status == 0)
        #expect(ended.text == "set 1, heard [1]\nset 3, heard [1, 2, 3]\n", "\(ended.text) \(ended.errors)")
    }
}

/// Configuration files that are replaced while a service runs.
@Suite("Reload of a configuration", .timeLimit(.minutes(10)))
struct ReloadTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func write(_ value: PropertyListValue, to path: String) throws {
        let file = folder.file(path)
        try FileManager.default.createDirectory(at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try PropertyListValue.dictionary(["port": value]).encoded(as: .xml).write(to: file, options: .atomic)
    }

    /// Replaces the link `..data`, as Kubernetes does for a mounted `ConfigMap`.
    private func link(to version: String) throws {
        let (new, link) = (folder.path("..data_tmp"), folder.path("..data"))
        try FileManager.default.createSymbolicLink(atPath: new, withDestinationPath: version)
        #expect(rename(new, link) == 0)
    }

    @Test("Another process sees a replaced file, and keeps the last valid value of an invalid one", arguments: [false, true])
    func reload(isLinked: Bool) async throws {
        let versions: [(name: String, value: PropertyListValue)] = [("..1", 8080), ("..2", 100_000), ("..3", 443)]
        func deploy(_ version: (name: String, value: PropertyListValue)) throws {
            guard isLinked else { return try write(version.value, to: "settings.plist") }
            try write(version.value, to: "\(version.name)/settings.plist")
            try link(to: version.name)
        }
        try deploy(versions[0])
        if isLinked {
            try FileManager.default.createSymbolicLink(atPath: folder.path("settings.plist"), withDestinationPath: "..data/settings.plist")
        }
        let service = try RunningProgram("Peer", ["watch-port", folder.path("settings.plist")])
        try await service.line { $0 == "port: 8080" }
        try deploy(versions[1])
        try await service.line { $0.hasPrefix("failure: key \"port\": expected Port, found integer 100000") }
        try deploy(versions[2])
        try await service.line { $0 == "port: 443" }
        #expect(service.lines.elements.filter { $0.hasPrefix("port") } == ["port: 8080", "port: 443"])
    }
}
