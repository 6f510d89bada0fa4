import Foundation
import PropertyListCoding
import TestSupport
import Testing
import UserDefaultsStorage

@testable import ObservableStorage

@Suite("User defaults", .timeLimit(.minutes(10)))
struct UserDefaultsBackendTests {
    private let domain = TemporaryDomain()
    private let defaults: UserDefaults
    private let backend: UserDefaultsBackend

    init() throws {
        defaults = try domain.defaults
        backend = try domain.makeBackend()
    }

    private static let values: [String: PropertyListValue] = [
        "array": [1, true, .real(1), "1", .data(Data([1])), []], "data": .data(Data([0, 255])),
        "date": .date(Date(timeIntervalSinceReferenceDate: 5)),
        "dictionary": ["one": ["two": false, "three": .real(0), "four": 0]], "empty": .data(Data()), "false": false,
        "highest": .integer(PropertyListInteger(UInt64.max)), "infinite": .real(-.infinity),
        "lowest": .integer(PropertyListInteger(Int64.min)),
        "nothing": [:], "one": 1, "real": .real(0.1), "string": "one\r\ntwo \u{1F5DD}", "true": true, "undefined": .real(.nan),
        "whole": .real(1),
    ]

    private static let refused: [PropertyListValue] = [
        .uid(1), [.uid(1)], ["CF$UID": 1], "a\u{0}", ["a": ["\u{0}"]], ["\u{0}": 1], "\u{fffe}",
    ]

    @Test("Values stored by Foundation are read with their types, before and after they reach the disk")
    func typesFromFoundation() throws {
        defaults.set(true, forKey: "true")
        defaults.set(1, forKey: "one")
        defaults.set(1.0, forKey: "whole")
        defaults.set(Float(0.5), forKey: "float")
        defaults.set(NSNumber(value: Int8(1)), forKey: "narrow")
        defaults.set("text", forKey: "string")
        defaults.set(Data([1]), forKey: "data")
        defaults.set(Date(timeIntervalSinceReferenceDate: 5), forKey: "date")
        defaults.set([1, true, 1.0, ["key": false]] as [Any], forKey: "array")
        defaults.set(URL(fileURLWithPath: "/tmp/a b"), forKey: "url")
        let expected: [String: PropertyListValue] = [
            "true": true, "one": 1, "whole": .real(1), "float": .real(0.5), "narrow": 1, "string": "text", "data": .data(Data([1])),
            "date": .date(Date(timeIntervalSinceReferenceDate: 5)), "array": [1, true, .real(1), ["key": false]], "url": "/tmp/a b",
        ]
        #expect(try backend.load().values == expected)
        #expect(defaults.synchronize())
        #expect(try domain.makeBackend().load().values == expected)
    }

    @Test("Every type reads back as it was stored, and Foundation's getters agree")
    func typesToFoundation() throws {
        let stored = try backend.edit { entries in
            for (key, value) in Self.values { entries[key] = value }
        }
        #expect(stored.values == Self.values)
        #expect(try domain.makeBackend().load().values == Self.values)
        #expect(defaults.bool(forKey: "true"))
        #expect(defaults.integer(forKey: "one") == 1)
        #expect(defaults.double(forKey: "real") == 0.1)
        #expect(defaults.data(forKey: "data") == Data([0, 255]))
        #expect(defaults.object(forKey: "date") as? Date == Date(timeIntervalSinceReferenceDate: 5))
        #expect(defaults.array(forKey: "array")?.count == 6)
        #expect(defaults.dictionary(forKey: "dictionary")?.keys.sorted() == ["one"])
    }

    @Test("Another process reads every type as it was stored")
    func otherProcess() async throws {
        _ = try backend.edit { entries in
            for (key, value) in Self.values { entries[key] = value }
        }
        let peer = try await Subprocess.finished("Peer", ["read-user-defaults", domain.name])
        let lines = peer.text.split(separator: "\n").map { $0.split(separator: " ").prefix(5).joined(separator: " ") }
        #expect(
            lines.map { $0.split(separator: " ").prefix(2).joined(separator: " ") }
                == Self.values.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.typeName)" })
        #expect(Set(lines).isSuperset(of: ["one integer true 1 1.0", "true boolean true 1 1.0", "real real true 0 0.1"]))
    }

    @Test(
        "A change of type alone, or of normalization alone, is a change",
        arguments: [
            [1, true, .real(1), 1, .real(1), true, 1], [0, false, .real(0), 0], ["\u{e9}", "e\u{301}", "\u{e9}"],
            [[1], [true], [.real(1)], [1]],
        ] as [[PropertyListValue]])
    func changesOfType(values: [PropertyListValue]) throws {
        for value in values {
            #expect(try backend.edit { $0["key"] = value }.values == ["key": value])
            #expect(try domain.makeBackend().load().values == ["key": value])
        }
    }

    @Test("Dates are truncated to Foundation's precision, and the edit returns the truncated values")
    func rounding() throws {
        let date = PropertyListValue.date(Date(timeIntervalSinceReferenceDate: 5.25))
        let stored = try backend.edit { entries in
            entries["date"] = date
            entries["zero"] = .real(-0.0)
        }
        #expect(stored.values["date"] == date.rounded(for: .xml) || stored.values["date"] == date)
        #expect(try domain.makeBackend().load().values == stored.values)
        #expect(defaults.synchronize())
        #expect(try domain.makeBackend().load().values == stored.values)
    }

    @Test(
        "A value that Foundation cannot represent is rejected, and nothing of the edit is stored",
        arguments: refused.map { ("key", $0) } + [("\u{0}", 1), ("\u{feff}x", 1)])
    func refusals(key: String, value: PropertyListValue) throws {
        _ = try backend.edit { $0["kept"] = 1 }
        let error = #expect(throws: StorageError.self) {
            try backend.edit { entries in
                entries["a"] = 2
                entries["kept"] = nil
                entries[key] = value
                entries["z"] = 3
            }
        }
        guard case .unencodable(key: key, _, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(try backend.load().values == ["kept": 1])
        #expect(defaults.object(forKey: "a") == nil)
    }

    @Test("Setting a value that Foundation cannot represent is rejected immediately, and keeps the previous value")
    func refusedBySet() async throws {
        let store = try ObservableStore(backend: backend)
        let failures = store.failures
        let key = StorageKey<PropertyListValue?>("key")
        try store.set(1, for: key)
        for value in Self.refused {
            let error = #expect(throws: StorageError.self) { try store.set(value, for: key) }
            guard case .unencodable(key: "key", _, _)? = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
            #expect(store[key] == 1)
        }
        // Nothing was left to be rejected by the write.
        try await store.close()
        for await failure in failures { Issue.record("\(failure)") }
        #expect(try backend.load().values == ["key": 1])
    }

    @Test("A value is set as it will be read back, so that writing it is not another change")
    func roundedBySet() async throws {
        let store = try ObservableStore(backend: backend)
        let (date, zero) = (StorageKey<PropertyListValue?>("date"), StorageKey<PropertyListValue?>("zero"))
        let changes = store.allChanges()
        try store.set(.date(Date(timeIntervalSinceReferenceDate: 5.25)), for: date)
        try store.set([.real(-0.0)], for: zero)
        let set = store.entries
        try await store.close()
        #expect(try domain.makeBackend().load().values == set)
        var names: [String] = []
        for await change in changes { names.append(change.key) }
        #expect(names == ["date", "zero"])
    }

    @Test("Values can be nested as deeply as in a store")
    func deep() throws {
        let deep = (0..<500).reduce(PropertyListValue.integer(1)) { value, _ in .array([value]) }
        #expect(try backend.edit { $0["deep"] = deep }.values == ["deep": deep])
        #expect(try domain.makeBackend().load().values == ["deep": deep])
    }

    @Test("Only edited entries are written, and an edit runs again if others changed meanwhile")
    func concurrentEdit() throws {
        let runs = Recorder<Int>()
        let stored = try backend.edit { entries in
            if runs.elements.isEmpty { defaults.set(5, forKey: "theirs") }
            runs.record(1)
            entries["ours"] = entries["theirs"] ?? 0
        }
        #expect(runs.elements.count == 2)
        #expect(stored.values == ["ours": 5, "theirs": 5])
        #expect(defaults.integer(forKey: "ours") == 5)
    }

    @Test("An edit that throws, or edits nothing, stores nothing")
    func nothing() throws {
        struct Refusal: Error {}
        #expect(throws: Refusal.self) {
            try backend.edit { entries in
                entries["count"] = 1
                throw Refusal()
            }
        }
        #expect(try backend.edit { _ in }.values.isEmpty)
        #expect(try backend.load().values.isEmpty)
    }

    @Test("Changes by another process are found when the domain is next read, and are preserved")
    func otherWriter() async throws {
        _ = try backend.edit { $0["ours"] = 1 }
        _ = try await Subprocess.finished("Peer", ["user-defaults", domain.name, "theirs", "7"])
        #expect(try backend.load().values == ["ours": 1, "theirs": 7])
        #expect(try backend.edit { $0["ours"] = 2 }.values == ["ours": 2, "theirs": 7])
    }

    @Test("A watch begins with an event, and reports edits through any backend and Foundation's notifications")
    func watching() async throws {
        let queue = DispatchQueue(label: "watch")
        let reports = Recorder<StorageEvent>()
        let token = backend.watch(since: nil, on: queue) { reports.record($0) }
        _ = try await reports.elements(count: 1)
        _ = try domain.makeBackend().edit { $0["count"] = 1 }
        _ = try await reports.elements(count: 2)
        UserDefaults.standard.removePersistentDomain(forName: domain.name)
        _ = try await reports.elements(count: 3)
        token.cancel()
        queue.sync {}
        let count = reports.elements.count
        _ = try backend.edit { $0["count"] = 2 }
        queue.sync {}
        #expect(reports.elements.count == count)
        #expect(reports.elements.allSatisfy { $0 == .changed })
    }

    @Test("Observers of user defaults receive edits, and can edit")
    func notification() async throws {
        let notified = Recorder<Void>()
        let edited = Recorder<[String: PropertyListValue]?>()
        let name = domain.name
        let observer = NotificationCenter.default.addObserver(forName: UserDefaults.didChangeNotification, object: defaults, queue: nil) {
            _ in
            guard notified.elements.isEmpty else { return }
            notified.record(())
            edited.record(try? UserDefaultsBackend(suiteName: name)?.edit { $0["more"] = 2 }.values)
        }
        _ = try UserDefaultsBackend(defaults, domain: domain.name).edit { $0["count"] = 1 }
        #expect(try await edited.elements(count: 1) == [["count": 1, "more": 2]])
        #expect(try backend.load().values == ["count": 1, "more": 2])
        NotificationCenter.default.removeObserver(observer)
    }

    #if os(Linux)
        @Test("Observers of user defaults are called after each edit, and never on the queue of a store")
        func notificationQueue() async throws {
            let store = try ObservableStore(backend: UserDefaultsBackend(defaults, domain: domain.name))
            let notified = Recorder<Bool>()
            let observer = NotificationCenter.default.addObserver(
                forName: UserDefaults.didChangeNotification, object: defaults, queue: nil
            ) { _ in notified.record(store.executor.isCurrent) }
            for number in 1...3 {
                store[Keys.count] = number
                try await store.flush()
            }
            #expect(try await !notified.elements(count: 3).contains(true))
            NotificationCenter.default.removeObserver(observer)
        }
    #endif

    @Test("The application's own user defaults are one domain under both names, without registered defaults")
    func own() async throws {
        let folder = try TemporaryFolder()
        let peer = try await Subprocess.finished("Peer", ["own-user-defaults"], environment: ["XDG_CONFIG_HOME": folder.url.path])
        #expect(peer.text == "[\"named\", \"ours\", \"theirs\"] [\"named\", \"ours\", \"theirs\"]\n2 3\n")
    }

    @Test("An edit that cannot be stored throws and has no effect, in the file too")
    func unwritable() async throws {
        let folder = try TemporaryFolder()
        let peer = try await Subprocess.finished("Peer", ["too-large-user-defaults"], environment: ["XDG_CONFIG_HOME": folder.url.path])
        #expect(peer.text == "unwritable integer -\ntrue\n")
    }
}
