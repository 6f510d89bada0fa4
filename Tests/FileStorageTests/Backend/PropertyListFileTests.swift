import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import ObservableStorage

@Suite("Property-list file", .timeLimit(.minutes(10)))
struct PropertyListFileTests {
    private let folder: TemporaryFolder
    private let file: URL

    init() throws {
        folder = try TemporaryFolder()
        file = folder.file("settings.plist")
    }

    private func write(_ entries: [String: PropertyListValue], as format: PropertyListFormat) throws {
        try PropertyListValue.dictionary(entries).encoded(as: format).write(to: file)
    }

    private func written() throws -> (value: PropertyListValue, format: PropertyListFormat) {
        try PropertyListValue.decode(Data(contentsOf: file))
    }

    @Test("A new file is binary")
    func newFile() async throws {
        try await ObservableStore(at: file).update { $0[Keys.count] = 1 }
        #expect(try written() == (["count": 1], .binary))
    }

    @Test("The format of a file and unknown entries are preserved", arguments: PropertyListFormat.allCases)
    func formatIsKept(format: PropertyListFormat) async throws {
        let deep: PropertyListValue = format == .json ? ["x", 1.0, true] : [.uid(7), .data(Data([1, 2])), true]
        let foreign: [String: PropertyListValue] = ["other": ["deep": deep], "count": 1]
        try write(foreign, as: format)
        try await ObservableStore(at: file).update { $0[Keys.count] = 2 }
        #expect(try written() == (.dictionary(foreign.merging(["count": 2]) { $1 }), format))
    }

    @Test("A list that is damaged in one entry is refused when it is opened, as if all entries were read")
    func damagedEntry() throws {
        try write(["count": 1, "other": "a text"], as: .binary)
        var bytes = try Data(contentsOf: file)
        let start = try #require(bytes.range(of: Data("a text".utf8))?.lowerBound)
        bytes[start + 2] = 0xE9
        try bytes.write(to: file)
        let error = #expect(throws: StorageError.self) { try ObservableStore(at: file) }
        #expect(error == .malformed(file: file.path, offset: start + 2, reason: "a byte that is not ASCII in an ASCII string"))
    }

    @Test("Entries that nobody has read are kept by commits of others, and snapshots have all of them")
    func unreadEntries() async throws {
        let entries: [String: PropertyListValue] = ["count": 1, "list": [1, ["deep": "text"]], "data": .data(Data([1, 2])), "text": "é"]
        try write(entries, as: .binary)
        let store = try ObservableStore(at: file)
        #expect(store[Keys.count] == 1)
        store[Keys.count] = 2
        try await store.flush()
        #expect(try written().value == .dictionary(entries.merging(["count": 2]) { $1 }))
        store.remove(Keys.count)
        #expect(store.entries == entries.filter { $0.key != "count" })
        try await store.flush()
        #expect(try written().value == .dictionary(store.entries))
        try await store.close()
    }

    private static let unwritable: [PropertyListValue] = ["\u{0}", .date(Date(timeIntervalSinceReferenceDate: 1e12)), ["CF$UID": -1]]

    @Test(
        "Writing a value that XML cannot represent throws an error with the key and the reason, and the file is unchanged",
        arguments: unwritable)
    func refusedByXML(value: PropertyListValue) async throws {
        try write(["count": 1], as: .xml)
        let key = StorageKey<PropertyListValue?>("value")
        let error = await #expect(throws: StorageError.self) {
            try await ObservableStore(at: file).update { transaction in
                transaction[Keys.count] = 2
                transaction[key] = value
            }
        }
        guard case .unencodable(key: "value", let reason, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(reason.hasPrefix(file.path) && reason.contains("XML cannot"))
        #expect(try written().value == ["count": 1])
        #expect(try written().format == .xml)
    }

    /// Sets values in a store that has not yet detected that its file is XML, and flushes them.
    private func flush(
        _ store: isolated ObservableStore, late value: PropertyListValue, for key: StorageKey<PropertyListValue?>
    ) async throws -> StorageError? {
        try write(["value": 1], as: .xml)
        store[Keys.count] = 1
        store[key] = value
        store[StorageKey<PropertyListValue?>("new")] = value
        store[Keys.note] = "kept"
        return await store.flushFailure()
    }

    @Test("A setter rejects a value that XML cannot represent, and keeps the previous one", arguments: unwritable)
    func refusedWhenSet(value: PropertyListValue) async throws {
        try write(["count": 1], as: .xml)
        let store = try ObservableStore(at: file)
        let key = StorageKey<PropertyListValue?>("value")
        store[key] = 5
        #expect(throws: StorageError.self) { try store.set(value, for: key) }
        #expect(throws: StorageError.self) { try store.stored(key).modify { $0 = value } }
        #expect(store[key] == 5)
        try await store.flush()
        #expect(try written() == (["count": 1, "value": 5], .xml))
    }

    @Test(
        "While a file cannot be read, nothing is refused or rounded for the format that a new one would have",
        arguments: [PropertyListFormat.xml, .json])
    func unknownFormat(newFormat: PropertyListFormat) async throws {
        try folder.makeFolder("folder")
        try folder.link("settings.plist", to: "folder")
        let backend = PropertyListFile(at: file, configuration: .with { $0.format = newFormat })
        let store = ObservableStore(backend: backend, layersIfReadable: LayerFiles())
        let (key, date) = (StorageKey("date", default: Date.distantPast), Date(timeIntervalSinceReferenceDate: 1.5))
        try store.set(date, for: key)
        #expect(store[key] == date)
        try PropertyListValue.dictionary(["count": 1]).encoded(as: .binary).write(to: folder.file("list"))
        try #require(rename(folder.link("other", to: "list"), file.path) == 0)
        try await store.flush()
        #expect(try written() == (["count": 1, "date": .date(date)], .binary))
        try await store.close()
    }

    @Test("A setter rejects a name that XML cannot represent, also before the file exists")
    func refusedName() async throws {
        let backend = PropertyListFile(at: file, configuration: .with { $0.format = .xml })
        let name = "a\u{1}b"
        let store = try ObservableStore(backend: backend)
        #expect(throws: StorageError.self) { try store.set(1, for: StorageKey(name, default: 0)) }
        #expect(throws: StorageError.self) { try store.set(true, for: StorageKey("dictionary", "\u{FFFF}", default: false)) }
        #expect(throws: StorageError.self) { try store.set("text", for: StorageKey(name, default: "")) }
        try store.set(2, for: StorageKey("\u{FF21}", default: 0))
        try await store.flush()
        #expect(store.entries == ["\u{FF21}": 2])
    }

    @Test("A setter rejects a value that is nested too deep inside the dictionary of the list", arguments: PropertyListFormat.allCases)
    func refusedDepth(format: PropertyListFormat) async throws {
        func nested(_ depth: Int) -> PropertyListValue { (0..<depth).reduce(1) { value, _ in [value] } }
        let store = try ObservableStore(backend: PropertyListFile(at: file, configuration: .with { $0.format = format }))
        let key = StorageKey<PropertyListValue?>("deep")
        let inner = StorageKey<PropertyListValue?>("outer", "middle", "deep")
        let error = #expect(throws: StorageError.self) { try store.set(nested(512), for: key) }
        #expect(error?.description.contains("arrays and dictionaries are nested more than 511 deep") == true)
        #expect(throws: StorageError.self) { try store.set(nested(510), for: inner) }
        try store.set(nested(511), for: key)
        try store.set(nested(509), for: inner)
        try await store.close()
        #expect(try written().value["deep"] == nested(511))
        #expect(try written().value["outer"]?["middle"]?["deep"] == nested(509))
    }

    @Test("Edits made together with a value that cannot be stored are reverted with it: the entry of an earlier name is kept")
    func takenBackTogether() async throws {
        try write(["old": "a"], as: .binary)
        let store = try ObservableStore(at: file)
        let key = StorageKey("new", default: "").renamed(from: "old")
        await store.isolated { store in
            // The store has not detected it yet.
            try? write(["old": "a"], as: .xml)
            store[key] += "b"
            store[key] = "\u{1}"
            store[Keys.count] = 1
            let isFailing = await store.flushFailure() != nil
            #expect(isFailing)
        }
        #expect(try written() == (["old": "a", "count": 1], .xml))
        #expect(store[key] == "a")
        try await store.close()
        #expect(try written() == (["old": "a", "count": 1], .xml))
    }

    @Test("A value whose migrated form XML cannot represent is kept, can be read, and is not migrated")
    func refusedMigration() async throws {
        try write(["shape": 4], as: .xml)
        let store = try ObservableStore(at: file)
        let key = StorageKey("shape", default: "").migrating(from: Int.self) { "\u{1}\($0)" }
        for _ in 0..<2 {
            #expect(store[key] == "\u{1}4")
            let value = try await store.update { transaction in
                transaction[Keys.count] += 1
                return transaction[key]
            }
            #expect(value == "\u{1}4")
        }
        #expect(throws: StorageError.self) { try store.migrateValue(of: key) }
        try await store.close()
        #expect(try written() == (["shape": 4, "count": 2], .xml))
    }

    @Test(
        "A value found to be unsupported by XML when written is reverted, reported and delivered; all others are stored",
        arguments: unwritable)
    // Swift 6.3.1 crashes when it optimizes this function.
    @_optimize(none)
    func takenBack(value: PropertyListValue) async throws {
        try write(["value": 1], as: .binary)
        let store = try ObservableStore(at: file)
        let failures = store.failures
        let key = StorageKey<PropertyListValue?>("value")
        let changes = store.changes(of: key)
        let error = try await flush(store, late: value, for: key)
        guard case .unencodable? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(store.entries == ["value": 1, "count": 1, "note": "kept"])
        #expect(try written() == (["value": 1, "count": 1, "note": "kept"], .xml))
        try await store.flush()
        store[Keys.count] = 2
        try await store.close()
        #expect(try written() == (["value": 1, "count": 2, "note": "kept"], .xml))
        let reported = await failures.reduce(into: Set<String>()) { reported, error in
            if case .unencodable(let key, _, _) = error { reported.insert(key) }
        }
        #expect(reported == ["value", "new"])
        let told = await changes.reduce(into: []) { $0.append($1.newValue) }
        #expect(told == [value, 1])
    }

    @Test("With a policy that permits it, an XML file becomes binary if necessary", arguments: unwritable)
    func formatPolicy(value: PropertyListValue) async throws {
        try write(["count": 1], as: .xml)
        let store = try ObservableStore(at: file, configuration: .with { $0.formatPolicy = .binaryWhenNecessary })
        try await store.update { $0[Keys.count] = 2 }
        #expect(try written() == (["count": 2], .xml))
        try await store.update { $0[StorageKey<PropertyListValue?>("value")] = value }
        #expect(try written() == (["count": 2, "value": value], .binary))
    }

    enum DateWay: CaseIterable {
        case transaction, set, setLate
    }

    @Test(
        "A date whose fraction XML truncates has the same value in memory as in the file; setting it again is no change",
        arguments: DateWay.allCases)
    func dateInXML(way: DateWay) async throws {
        try write(["count": 1], as: way == .setLate ? .binary : .xml)
        let key = StorageKey<Date?>("date")
        let date = Date(timeIntervalSinceReferenceDate: 100.25)
        let whole = Date(timeIntervalSinceReferenceDate: 100)
        let store = try ObservableStore(at: file)
        let changes = store.allChanges()
        switch way {
        case .transaction: try await store.update { $0[key] = date }
        case .set: store[key] = date
        case .setLate:
            try await store.isolated { store in
                // The store has not detected it yet.
                try write(["count": 1], as: .xml)
                store[key] = date
                #expect(store[key] == date)
                try await store.flush()
            }
        }
        #expect(store[key] == whole)
        try await store.flush()
        store[key] = date
        try await store.update { $0[key] = date }
        try await ObservableStore(at: file).update { $0[Keys.count] = 2 }
        var seen: [String] = []
        for await change in changes {
            seen.append("\(change.key) \(change.origin)")
            if change.key == "count" { break }
        }
        #expect(seen == (way == .setLate ? ["date local", "date local", "count external"] : ["date local", "count external"]))
        #expect(store[key] == whole)
        #expect(try ObservableStore(at: file)[key] == whole)
    }

    @Test(
        "An invalid file is rejected with its name and the reason, and not modified",
        arguments: [
            " \n": "white space", "\n\n": "white space", "<plist><string>a</string></plist>": "string", "{ a = b; }": "plutil",
            "[1, 2]": "array", "{\"a\": 1,, }": "JSON",
            "bplist00": "cut short", "<plist><dict><key>a</key></dict></plist>": "no value",
        ])
    func badFile(content: String, reason: String) throws {
        try Data(content.utf8).write(to: file)
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file.path)
        let error = #expect(throws: StorageError.self) { try ObservableStore(at: file) }
        guard case .malformed(file: file.path, _, _, _, let found, _)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(found.contains(reason))
        #expect(try Data(contentsOf: file) == Data(content.utf8))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["settings.plist"])
    }

    @Test("A file without content, or with a line feed, is an empty list, and is written over", arguments: ["", "\n"], [false, true])
    func blank(content: String, isJournaled: Bool) async throws {
        try Data(content.utf8).write(to: file)
        let list = PropertyListFile(
            at: file,
            configuration: .with {
                ($0.onCorruption, $0.lockTimeout, $0.format) = (.quarantine, .seconds(500), .xml)
                $0.journal = isJournaled ? .full() : .edits
            }, calls: .withoutPauses)
        #expect(try list.load().values.isEmpty)
        _ = try list.edit { $0["count"] = 1 }
        try list.checkpoint()
        #expect(try written().value == ["count": 1])
        #expect(try written().format == .xml)
        #expect(list.list.reports.kept.withLock { $0 }.isEmpty)
        #expect(try folder.names().allSatisfy { !$0.contains("corrupt") })
    }

    @Test("A list that loses its content and gets none is empty, which is reported, and can be written again", arguments: [false, true])
    func truncated(isInPlace: Bool) async throws {
        try write(["count": 1, "text": "a"], as: .binary)
        let list = PropertyListFile(withoutPausesAt: file)
        #expect(try list.load().values["count"] == 1)
        if isInPlace { try #require(truncate(file.path, 0) == 0) } else { try Data().write(to: file, options: .atomic) }
        // At first it may be about to be written.
        #expect(throws: StorageError.malformed(file: file.path, offset: 0, reason: "there are no bytes")) { try list.load() }
        #expect(throws: StorageError.self) { try list.edit { $0["count"] = 2 } }
        try FileManager.default.setAttributes([.modificationDate: Date(timeIntervalSince1970: 0)], ofItemAtPath: file.path)
        #expect(try list.load().values.isEmpty)
        #expect(list.list.reports.kept.withLock { $0 }.map { $0.description.contains("truncated") } == [true])
        _ = try list.edit { $0["count"] = 2 }
        #expect(try written().value == ["count": 2])
    }

    @Test("The error of an invalid XML file names the line and the column, that of a binary file the offset")
    func position() throws {
        try Data("<plist>\n<dict>\n\t<key>a</key>\n</dict></plist>".utf8).write(to: file)
        let inText = #expect(throws: StorageError.self) { try PropertyListFile(at: file).load() }
        #expect(inText?.description.contains("not a readable property list (line 3, column 2): the key \"a\" has no value") == true)
        try Data("bplist00".utf8).write(to: file)
        let inBinary = #expect(throws: StorageError.self) { try PropertyListFile(at: file).load() }
        #expect(inBinary?.description.contains("not a readable property list (byte 8): ") == true)
    }

    @Test("Edits of an XML file that was written by hand change the edited entries only; comments, order and white space remain")
    func handwritten() async throws {
        let text =
            "<?xml version='1.0'?>\n<plist>\n<dict>\n  <!-- z -->\n  <key>z</key> <real>1.50</real>\n\n  "
            + "<key>count</key> <integer>0x01</integer> <!-- n -->\n  <key>a</key> <string>&#x41;</string>\n</dict>\n</plist>\n"
        try Data(text.utf8).write(to: file)
        let store = try ObservableStore(at: file)
        func expect(_ expected: String) throws {
            #expect(try String(contentsOf: file, encoding: .utf8) == expected)
        }
        for count in 2...3 {
            try await store.update { $0[Keys.count] = count }
            try expect(text.replacingOccurrences(of: "0x01", with: "\(count)"))
        }
        // Others edit the file as well, and the store's next edit keeps theirs.
        let edited = text.replacingOccurrences(of: "<!-- z -->", with: "<!-- others -->")
        try Data(edited.utf8).write(to: file, options: .atomic)
        try await store.update { $0[Keys.count] = 4 }
        try expect(edited.replacingOccurrences(of: "0x01", with: "4"))
        try await store.update { $0.remove(Keys.count) }
        try expect(edited.replacingOccurrences(of: "<key>count</key> <integer>0x01</integer> ", with: ""))
    }

    @Test("Two reads find what another writer set, added and removed, and what was edited since", arguments: PropertyListFormat.allCases)
    func differences(format: PropertyListFormat) throws {
        let list = PropertyListFile(at: file)
        try write(["a": 1, "b": "two", "c": [3], "d": 4], as: format)
        let first = try list.load()
        try write(["a": 10, "b": "two", "c": [3, 3], "d": 4], as: format)
        let second = try list.load()
        #expect(second.changes(since: first) == ["a": 10, "c": [3, 3]])
        try write(["a": 10, "b": "two", "c": [3, 3], "e": 5], as: format)
        var third = try list.load()
        #expect(third.values == ["a": 10, "b": "two", "c": [3, 3], "e": 5])
        #expect(third.changes(since: second) == ["d": .none, "e": 5])
        #expect(third.changes(since: first) == ["a": 10, "c": [3, 3], "d": .none, "e": 5])
        third["b"] = 2
        #expect(third.changes(since: second) == ["b": 2, "d": .none, "e": 5])
    }

    @Test("An invalid file is moved aside if requested, the newest three are kept, and the store starts empty")
    func quarantine() async throws {
        for number in 1...5 {
            try Data("bad \(number)".utf8).write(to: file)
            let store = try ObservableStore(backend: PropertyListFile(withoutPausesAt: file, onCorruption: .quarantine))
            #expect(store.entries.isEmpty)
            var failures = store.failures.makeAsyncIterator()
            store[Keys.count] = number
            let failure = try #require(await failures.next())
            #expect(failure.description.contains(".corrupt-") && failure.description.contains("not a readable property list"))
            #expect(failure.description.hasSuffix("from \(file.path), which starts empty); its content was not changed"))
            try await store.close()
            #expect(try written().value == ["count": .integer(PropertyListInteger(Int64(number)))])
        }
        let aside = try FileManager.default.contentsOfDirectory(atPath: folder.url.path).filter { $0.contains(".corrupt-") }.sorted()
        #expect(try aside.map { String(decoding: try Data(contentsOf: folder.file($0)), as: UTF8.self) } == ["bad 3", "bad 4", "bad 5"])
    }

    @Test("A readable file is never moved aside, nor is one that cannot be opened")
    func nothingToQuarantine() throws {
        try write(["count": 1], as: .xml)
        #expect(try ObservableStore(at: file, configuration: .with { $0.onCorruption = .quarantine })[Keys.count] == 1)
        try FileManager.default.removeItem(at: file)
        try FileManager.default.createDirectory(at: file, withIntermediateDirectories: false)
        #expect(throws: StorageError.unreadable(file: file.path, reason: "is a folder, not a file")) {
            try ObservableStore(at: file, configuration: .with { $0.onCorruption = .quarantine })
        }
    }

    @Test("New files and folders are accessible to their owner only")
    func access() async throws {
        let deep = folder.file("a/b/settings.plist")
        try await ObservableStore(at: deep).update { $0[Keys.count] = 1 }
        func permissions(_ path: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: folder.path(path))[.posixPermissions] as? Int
        }
        #expect(try permissions("a/b/settings.plist") == 0o600)
        #expect(try permissions("a/b") == 0o700)
        #expect(try permissions("a") == 0o700)
    }

    @Test("A symbolic link is written through")
    func link() async throws {
        try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: "real.plist")
        try await ObservableStore(at: file).update { $0[Keys.count] = 1 }
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: file.path) == "real.plist")
        #expect(try ObservableStore(at: folder.file("real.plist"))[Keys.count] == 1)
    }

    @Test("A lock held by another writer is an error that names the file, and the edits are kept")
    func locked() async throws {
        let store = try ObservableStore(at: file, configuration: .with { $0.lockTimeout = .milliseconds(100) })
        let lock = open(folder.path(".settings.plist.lock"), O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
        store[Keys.text] = "waiting"
        await #expect(throws: StorageError.locked(file: file.path, waited: .milliseconds(100), edits: .kept)) { try await store.flush() }
        unlockAndClose(lock)
        try await store.flush()
        #expect(try ObservableStore(at: file).entries == ["text": "waiting"])
    }

    @Test("Equivalent paths of one file share a store, and so do links to it")
    func shared() throws {
        try FileManager.default.createSymbolicLink(atPath: folder.path("link.plist"), withDestinationPath: "settings.plist")
        try FileManager.default.createDirectory(at: folder.file("x"), withIntermediateDirectories: false)
        let store = try ObservableStore.shared(at: file)
        #expect(try ObservableStore.shared(at: folder.url.appendingPathComponent("x/../settings.plist")) === store)
        #expect(try ObservableStore.shared(at: folder.file("link.plist")) === store)
        #expect(try ObservableStore.shared(at: folder.file("other.plist")) !== store)
    }
}
