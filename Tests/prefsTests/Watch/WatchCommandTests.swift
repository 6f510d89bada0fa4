import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("Which changes a watch prints", .timeLimit(.minutes(10)))
struct WatchCommandTests {
    private func isPrinted(_ key: String, _ revision: UInt64, keys: [String]) throws -> Bool {
        let change = Change<PropertyListValue?>(key: key, oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: revision)
        var entries: [String: PropertyListValue] = [:]
        return try !WatchCommand(Arguments(operands: ["settings.plist"] + keys)).lines(for: change, in: &entries, after: 7).isEmpty
    }

    @Test("A change that the snapshot includes is not printed again")
    func revisions() throws {
        #expect(try [6, 7, 8, 9].map { try isPrinted("a", $0, keys: []) } == [false, false, true, true])
    }

    @Test("Changes of the named keys are printed, or of all if none is named")
    func keys() throws {
        #expect(try isPrinted("a", 8, keys: ["a", "b"]))
        #expect(try !isPrinted("c", 8, keys: ["a", "b"]))
        #expect(try isPrinted("c", 8, keys: []))
    }

    @Test("Changes of the value at a named path are printed, and no others of its entry, unless the path is to be one name")
    func paths() throws {
        let change = Change<PropertyListValue?>(
            key: "server", oldValue: ["port": 80, "hosts": ["a"]], newValue: ["port": 81, "hosts": ["a"]], kind: .set, origin: .external,
            revision: 8)
        func lines(_ keys: [String], _ options: [String: String] = [:]) throws -> [String] {
            let watch = try WatchCommand(Arguments(operands: ["settings.plist"] + keys, options: options))
            var entries: [String: PropertyListValue] = [:]
            return watch.lines(for: change, in: &entries, after: 7).map { "\($0.key): \($0.old?.json ?? "") to \($0.new?.json ?? "")" }
        }
        #expect(try lines(["server.hosts.0", "server.port", "other.port"]) == ["server.port: 80 to 81"])
        #expect(try lines([".server.port", "server.missing"]) == [".server.port: 80 to 81"])
        #expect(try lines(["server.port"], ["literal": ""]).isEmpty)
    }

    @Test("All changes since a revision are printed, whatever the store's own count")
    func sinceRevision() throws {
        let change = Change<PropertyListValue?>(key: "a", oldValue: 1, newValue: 2, kind: .set, origin: .external, revision: 0)
        var entries: [String: PropertyListValue] = [:]
        #expect(try WatchCommand(Arguments(operands: ["settings.plist"])).lines(for: change, in: &entries, after: nil).count == 1)
    }

    @Test("A path leads where it leads in all entries, before and after a change")
    func precedence() throws {
        let watch = try WatchCommand(Arguments(operands: ["settings.plist", "a.b"]))
        var entries: [String: PropertyListValue] = ["a": ["b": 1], "a.b": 5]
        func lines(_ key: String, _ old: PropertyListValue?, _ new: PropertyListValue?) -> [String] {
            let change = Change<PropertyListValue?>(key: key, oldValue: old, newValue: new, kind: .set, origin: .external, revision: 8)
            return watch.lines(for: change, in: &entries, after: 7).map { "\($0.old?.json ?? "") to \($0.new?.json ?? "")" }
        }
        #expect(lines("a", ["b": 1], ["b": 2]).isEmpty)
        #expect(lines("a.b", 5, nil) == ["5 to 2"])
        #expect(lines("a", ["b": 2], ["b": 3]) == ["2 to 3"])
    }

    @Test("The changes since a revision come first, and then new ones")
    func resumed() async throws {
        let backend = InMemoryBackend(["a": 1])
        let start = try #require(backend.load().revision)
        for number in 2...3 { _ = try backend.edit { $0["a"] = number == 2 ? 2 : 3 } }
        let store = try ObservableStore(backend: backend)
        let changes = try await WatchCommand.changes(of: store, since: start)
        _ = try backend.edit { $0["a"] = nil }
        var lines: [WatchLine] = []
        for await change in changes {
            lines.append(WatchLine(change))
            if change.newValue == nil { break }
        }
        #expect(lines.map(\.new) == [2, 3, nil] && lines.map(\.storageRevision?.number) == [1, 2, 3])
    }

    @Test("A revision that is too old, or a file without a journal, is an error with its own exit status and remedy")
    func notRemembered() async throws {
        let backend = InMemoryBackend(["a": 1], rememberedCommits: 0)
        let start = try #require(backend.load().revision)
        _ = try backend.edit { $0["a"] = 2 }
        let store = try ObservableStore(backend: backend)
        let other = StorageRevision(history: "other", number: 3)
        for (revision, store, reason) in [
            (start, store, "memory: what has changed since \(start) is not remembered"),
            (other, store, "memory: what has changed since other-3 is not remembered, or other-3 is no revision of it"),
            (other, try ObservableStore(backend: JSONFileBackend(at: TemporaryFolder().file("a.json"))), "it has no journal"),
        ] {
            let error = await #expect(throws: CommandError.self) { _ = try await WatchCommand.changes(of: store, since: revision) }
            #expect(error?.status == 4)
            #expect(try #require(error).description.contains(reason) && "\(try #require(error))".contains("--initial"))
        }
    }

    @Test("An invalid revision, or --initial with a revision, is a usage error", arguments: ["x", "-1", "a-", "a-01", "17"])
    func invalid(text: String) {
        #expect(throws: CommandError.usage("not a revision: \(text)")) {
            try WatchCommand(Arguments(operands: ["settings.plist"], options: ["since": text]))
        }
        #expect(throws: CommandError.usage("--since and --initial exclude each other")) {
            try WatchCommand(Arguments(operands: ["settings.plist"], options: ["since": "a-1", "initial": ""]))
        }
    }
}
