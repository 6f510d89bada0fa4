import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("prefs write", .timeLimit(.minutes(10)))
struct WriteCommandTests {
    private let folder: TemporaryFolder
    private let file: String

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
    }

    private func stored() throws -> PropertyListValue {
        try PropertyListValue.decode(Data(contentsOf: URL(fileURLWithPath: file))).value
    }

    private static let values: [PropertyListValue] = [
        "", "a b\n$x'\"", "-", "--int", "5", 5, .integer(PropertyListInteger(UInt64.max)), .integer(PropertyListInteger(Int64.min)), 1.0,
        .real(-0.0), .real(.leastNonzeroMagnitude), .real(.nan), .real(-.infinity), true, false,
        .date(Date(timeIntervalSinceReferenceDate: 0.25)),
        .date(Date(timeIntervalSinceReferenceDate: 1e300)), .data(Data([0, 255, 10])), .data(Data()), .uid(3), [], [:],
        [1, 1.0, .real(.infinity), true, .date(Date(timeIntervalSinceReferenceDate: -0.5)), .data(Data([7])), .uid(9), ["k": [[:]]]],
        ["$date": "2001-01-01T00:00:00Z"], ["$data": .data(Data([1]))], ["CF$UID": 3], ["$real": 1, "b": 2],
        ["$dictionary": ["$date": "x"]],
        ["$dictionary": ["$dictionary": .date(Date(timeIntervalSinceReferenceDate: 1))], "$date": 2], ["": ["$dictionary": 1]],
    ]

    @Test("write accepts what read prints, for a value of every type", arguments: values)
    func roundTrip(_ value: PropertyListValue) async throws {
        try PropertyListValue.dictionary(["k": value]).encoded(as: .binary).write(to: folder.file("other.plist"))
        // A lone dash is standard input.
        let script = #"printf '%s' - | "$P" write "$F" k --type "$("$P" type "$O" k)" -- "$("$P" read "$O" k)""#
        let environment = ["P": Subprocess.executable("prefs").path, "F": file, "O": folder.path("other.plist")]
        let result = try await Subprocess.finished("/bin/sh", ["-c", script], environment: environment)
        #expect(result.status == 0, "\(result.errors)")
        #expect(try stored() == ["k": value])
    }

    @Test("read --raw and write --raw copy any text and any bytes through a pipe")
    func raw() async throws {
        let bytes = Data((0...255).map { UInt8($0) } + [10, 10])
        #expect(try await tool("write", file, "k", "-", "--data", "--raw", input: bytes).status == 0)
        #expect(try stored() == ["k": .data(bytes)])
        #expect(try await tool("read", file, "k", "--raw").output == bytes)
        #expect(try await tool("write", file, "k", "-", "--raw", input: Data("a\n\n".utf8)).status == 0)
        #expect(try await tool("read", file, "k", "--raw").text == "a\n\n")
    }

    @Test("A dash is the text on standard input without its last line break")
    func standardInput() async throws {
        #expect(try await tool("write", file, "k", "-", input: Data("a\n\n".utf8)).status == 0)
        #expect(try stored() == ["k": "a\n"])
        #expect(try await tool("write", file, "k", "-", "--int", input: Data("5\n".utf8)).status == 0)
        #expect(try stored() == ["k": 5])
        let binary = try await tool("write", file, "k", "-", input: Data([255]))
        #expect(binary.status == 3)
        #expect(binary.errors.hasPrefix("prefs: standard input: it is not UTF-8"))
        #expect(try stored() == ["k": 5])
    }

    @Test("Several keys are set at once, or none of them")
    func severalKeys() async throws {
        #expect(try await tool("write", file, "a", "1", "b.c", "2", "--int").status == 0)
        #expect(try stored() == ["a": 1, "b": ["c": 2]])
        let result = try await tool("write", file, "a", "7", "a.x", "8", "--int")
        #expect(result.status == 3)
        #expect(try stored() == ["a": 1, "b": ["c": 2]])
    }

    @Test("Arrays and dictionaries are made of several values, and added to")
    func containers() async throws {
        #expect(try await tool("write", file, "a", "--array", "1", "2", "--int").status == 0)
        #expect(try await tool("write", file, "a", "--array-add", "x").status == 0)
        #expect(try await tool("write", file, "n.d", "--dict-add", "x", "yes", "--bool").status == 0)
        #expect(try await tool("write", file, "n.d", "--dict-add", "y", "z").status == 0)
        #expect(try await tool("write", file, "d", "--dict", "x.y", "z").status == 0)
        #expect(try await tool("write", file, "e", "--array").status == 0)
        #expect(try stored() == ["a": [1, 2, "x"], "n": ["d": ["x": true, "y": "z"]], "d": ["x.y": "z"], "e": []])
    }

    @Test("Adding to a value of another type is an error and changes nothing", arguments: ["--array-add", "--dict-add"])
    func addingToOther(_ option: String) async throws {
        #expect(try await tool("write", file, "k", "text").status == 0)
        let result = try await tool("write", file, "k", option, "a", "b")
        #expect(result.status == 3)
        let type = option == "--array-add" ? "array" : "dictionary"
        #expect(result.errors.hasPrefix("prefs: \(file): key \"k\" is of type string, not a"))
        #expect(result.errors.hasSuffix("\(type)\n"))
        #expect(try stored() == ["k": "text"])
    }

    @Test("delete and increment take paths")
    func paths() async throws {
        #expect(try await tool("write", file, "a.b.c", "x").status == 0)
        #expect(try await tool("increment", file, "a.n").text == "1\n")
        #expect(try await tool("delete", file, "a.b").status == 0)
        #expect(try stored() == ["a": ["n": 1]])
        #expect(try await tool("increment", file, "a.b", "--literal").text == "1\n")
        #expect(try stored() == ["a": ["n": 1], "a.b": 1])
        #expect(try await tool("delete", file, "a.x").status == 1)
    }

    @Test("rename moves a value of any depth, and never over another one")
    func rename() async throws {
        #expect(try await tool("write", file, "a.b", "x", "c", "y").status == 0)
        #expect(try await tool("rename", file, "a.b", "d.e").status == 0)
        #expect(try stored() == ["a": [:], "c": "y", "d": ["e": "x"]])
        let result = try await tool("rename", file, "c", "d")
        #expect(result.status == 3)
        #expect(result.errors == "prefs: \(file): key \"d\" exists; delete it first\n")
        #expect(try await tool("rename", file, "c", "d.e.f").status == 3)
        #expect(try await tool("rename", file, "x", "z").status == 1)
        #expect(try stored() == ["a": [:], "c": "y", "d": ["e": "x"]])
    }
}

#if os(Linux)
    extension WriteCommandTests {
        @Test("write and convert keep the access control list of the file", .enabled(if: AccessControlEntries.areSupported))
        func accessControlList() async throws {
            let folder = try TemporaryFolder()
            let file = folder.path("settings.plist")
            let list: AccessControlEntries = "user::6 user:33:4 group::0 mask::4 other::0"
            try PropertyListValue.dictionary(["k": 1]).encoded(as: .binary).write(to: folder.file("settings.plist"))
            try list.set(on: file)
            #expect(try await tool("write", file, "k", "2").status == 0)
            #expect(try AccessControlEntries(of: file) == list)
            #expect(try await tool("convert", file, "--to", "xml").status == 0)
            #expect(try AccessControlEntries(of: file) == list)
        }
    }
#endif
