import ObservableStorage
import PropertyListCoding
import Testing

@testable import prefs

@Suite("The operand KEY", .timeLimit(.minutes(10)))
struct EntryPathTests {
    private static let entries: [String: PropertyListValue] = [
        "server": ["port": 80, "hosts": ["a", ["name": "b"]], "x.y": 1, "": 2], "server.port": 443, "a.b": ["c": 3], "a": ["b": ["c": 4]],
        "..": 5, "ends.": 6, "text": "t",
    ]

    private func updated(
        _ path: String, isLiteral: Bool = false, to value: PropertyListValue?
    ) throws -> [String: PropertyListValue] {
        var entries = StorageEntries(Self.entries)
        try EntryPath(path, isLiteral: isLiteral).update(&entries, of: "f.plist") { _ in value }
        return entries.values
    }

    @Test(
        "A path leads through dictionaries and arrays, and the longest name that exists is preferred",
        arguments: [
            ("server.hosts.0", "a" as PropertyListValue?), ("server.hosts.1.name", "b"), ("server.port", 443), ("server.x.y", 1),
            ("a.b.c", 3), ("..", 5), ("ends.", 6), ("text", "t"), ("server.hosts.2", nil), ("server.hosts.-1", nil), ("text.t", nil),
            ("server.", nil), ("", nil), ("none.none", nil),
        ])
    func reading(_ path: String, _ value: PropertyListValue?) {
        #expect(EntryPath(path).value(in: Self.entries) == value)
    }

    @Test(
        "A path with a dot at the beginning is exact, as the name of a key in the library; escapes are parts of names",
        arguments: [
            (".server.port", 80 as PropertyListValue?), (#".server.x\.y"#, 1), (#".a\.b.c"#, 3), (".a.b.c", 4),
            (".server.hosts.1.name", "b"), (".server.x.y", nil), (".server", nil), (".server.", nil), (#".server.x\y"#, nil),
            (".hidden.one", 7),
        ])
    func exact(_ path: String, _ value: PropertyListValue?) {
        var entries = Self.entries
        entries[".hidden.one"] = 7
        #expect(EntryPath(path).value(in: entries) == value)
    }

    @Test("Names of keys in the library are paths to their values, whatever they contain")
    func names() throws {
        let keys = [
            StorageKey("server", "port", default: 0), StorageKey("server.port", default: 0), StorageKey("a.b", "c\\d", default: 0),
            StorageKey("a", "b.c", "\u{301}", default: 0), StorageKey("a\\", "b", default: 0),
        ]
        for key in keys {
            let store = try ObservableStore(backend: InMemoryBackend(["server.port": 1]))
            store[key] = 5
            #expect(EntryPath(key.name).value(in: store.entries) == 5, "\(key.name)")
        }
        #expect(try updated(".server.port", to: 8)["server"]?[path: "port"] == 8)
    }

    @Test("What is printed of a value inside others leads to it, with a dot at the beginning only where it would lead elsewhere without")
    func text() {
        var paths: [String] = []
        Self.entries.forEachNested { path, name, value in
            paths.append(path)
            // Nothing leads to an empty name inside a dictionary.
            if !name.isEmpty { #expect(EntryPath(path).value(in: Self.entries) == value, "\(path)") }
        }
        #expect(paths.contains("server.port") && paths.contains(".server.port"))
        #expect(paths.contains("a.b.c") && paths.contains(".a.b.c"))
        #expect(paths.contains("server.hosts.1.name") && paths.contains("server.x.y"))
        #expect(Set(paths).count == paths.count)
        // In one of two lists is enough.
        let other: [String: PropertyListValue] = ["text": ["t": 1], "text.t": 1]
        #expect(EntryPath.text(of: ["text", "t"], in: Self.entries) == "text.t")
        #expect(EntryPath.text(of: ["text", "t"], in: Self.entries, other) == ".text.t")
        #expect(differences(from: ["a": ["b": 1], "a.b": 1], to: ["a": ["b": 2]]) == [".a.b", "a.b"])
    }

    private func differences(from old: [String: PropertyListValue], to new: [String: PropertyListValue]) -> [String] {
        var paths: [String] = []
        new.forEachDifference(from: old) { path, _, _ in paths.append(path) }
        return paths
    }

    // Trying all names at each level, these took minutes.
    @Test(
        "The paths in a list that is as deep as lists may be are found in a moment, also below a name with dots, and for differences",
        arguments: ["root", "com.example"])
    func deepList(root: String) {
        func list(_ leaf: PropertyListValue) -> [String: PropertyListValue] {
            var value: PropertyListValue = ["leaf": leaf]
            for level in 0..<508 { value = level.isMultiple(of: 2) ? [value] : ["k\(level)": value] }
            return [root: value, "com.example.x": 1]
        }
        var (count, deepest) = (0, "")
        list(1).forEachNested { path, _, _ in (count, deepest) = (count + 1, path.utf8.count > deepest.utf8.count ? path : deepest) }
        #expect(count == 511 && deepest.hasPrefix("\(root).k507.0.k505.") && deepest.hasSuffix(".0.leaf"))
        #expect(differences(from: list(1), to: list(2)) == [deepest])
    }

    @Test("The longest name with which a path continues is found in small dictionaries as in large ones", arguments: [0, 8])
    func longestName(others: Int) {
        var inner: [String: PropertyListValue] = ["a": ["b": ["c": 1]], "a.b": ["c": 2], "a.b.c.x": 3, "b.c": 4, "": 5, "a.": 6, "a..c": 7]
        for number in 0..<others { inner["\(number)"] = 0 }
        let entries: [String: PropertyListValue] = ["r": .dictionary(inner), "s": ["a": .dictionary(inner)]]
        for prefix in ["r", "s.a"] {
            #expect(EntryPath("\(prefix).a.b.c").value(in: entries) == 2)
            #expect(EntryPath("\(prefix).a.b.c.d.e.f.g").value(in: entries) == nil)
            #expect(EntryPath("\(prefix).a.b").value(in: entries) == ["c": 2])
            #expect(EntryPath("\(prefix).a").value(in: entries) == ["b": ["c": 1]])
            #expect(EntryPath("\(prefix).b.c").value(in: entries) == 4)
        }
    }

    @Test("A literal key is one name")
    func literal() throws {
        #expect(EntryPath("server.hosts", isLiteral: true).value(in: Self.entries) == nil)
        #expect(EntryPath("server.port", isLiteral: true).value(in: Self.entries) == 443)
        #expect(try updated("x.y", isLiteral: true, to: 1)["x.y"] == 1)
    }

    @Test("Setting a value changes nothing else, and creates missing dictionaries")
    func setting() throws {
        var expected = Self.entries
        expected["server"]?[path: "hosts", "1", "name"] = "new"
        #expect(try updated("server.hosts.1.name", to: "new") == expected)
        expected = Self.entries
        expected["new"] = ["a": ["b": true]]
        #expect(try updated("new.a.b", to: true) == expected)
        expected = Self.entries
        expected["server"]?[path: "hosts"] = [["name": "b"]]
        #expect(try updated("server.hosts.0", to: nil) == expected)
    }

    @Test(
        "A path into another type, or to a missing element, is an error that names the path and the reason",
        arguments: [
            (
                "text.a.b",
                #"f.plist: key "text.a.b" cannot be set: "text" is of type string, not a dictionary (--literal takes the key as one name)"#
            ),
            (
                "server.hosts.2",
                #"f.plist: key "server.hosts.2" cannot be set: "server.hosts" is an array of 2 elements, without an element "2""#
            ),
        ])
    func errors(_ path: String, _ reason: String) {
        #expect(throws: CommandError.failed(reason)) { try updated(path, to: 1) }
    }

    @Test("A path of more names than a property list may have levels is one name")
    func depth() throws {
        let name = String(repeating: "n.", count: 50_000) + "n"
        #expect(try updated(name, to: 1)[name] == 1)
        let path = String(repeating: "n.", count: 511) + "n"
        #expect(try updated(path, to: 1)["n"]?[path: Array(repeating: "n", count: 511)] == 1)
    }
}
