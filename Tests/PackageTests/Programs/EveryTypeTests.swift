import Foundation
import TestSupport
import Testing

/// A program that stores a value of each type.
@Suite("A program with settings of every type", .timeLimit(.minutes(10)))
struct EveryTypeTests {
    // Prints the type and the value of each entry as Python has it.
    private static let script = """
        import plistlib, sys
        for key, value in sorted(plistlib.load(open(sys.argv[1], "rb")).items()):
            print(key, type(value).__name__, value)
        """

    // In Python's notation.
    private static let expected = """
        account dict {'name': 'Ada', 'parent': [{'name': 'Byron', 'parent': [], 'tags': {}}], 'tags': {'x': [1]}}
        accounts list [{'name': 'Ada', 'parent': [], 'tags': {}}, {'name': 'Bob', 'parent': [], 'tags': {}}]
        array list [[1, 2], [], [3]]
        boolean bool True
        cgFloat float -0.5
        character str 👩‍👩‍👧
        closedRange dict {'lowerBound': 0.5, 'upperBound': 1.5}
        data bytes b'\\x00\\xff'
        date datetime 2023-11-14 22:13:20.250000
        decimal str -12345678901234567890.123456789
        dictionary dict {'': {}, 'a': {'b': True}}
        double float 0.1
        duration str -1.5s
        float float 0.10000000149011612
        int int -9223372036854775808
        int128 str -170141183460469231731687303715884105728
        int16 int -32768
        int32 int -2147483648
        int64 int -9223372036854775808
        int8 int -128
        json bytes b'{"name":"Eve","parent":[],"tags":{}}'
        level str high
        levels dict {'high': 1.0, 'low': 0.25}
        locale str de_AT
        numbered dict {'-1': 'minus one', '7': 'seven'}
        optional int 5
        point dict {'x': 1.0, 'y': 2.0}
        propertyList dict {'mixed': [1, True, 1.5, 'text']}
        range dict {'lowerBound': -1, 'upperBound': 5}
        rect dict {'height': 4.0, 'width': -3.0, 'x': 1.0, 'y': 2.0}
        set list ['a', 'b']
        size dict {'height': 4.0, 'width': 3.0}
        string str größer 🗝

        timeZone str Europe/Vienna
        uint int 18446744073709551615
        uint128 str 340282366920938463463374607431768211455
        uint16 int 65535
        uint32 int 4294967295
        uint64 int 18446744073709551615
        uint8 int 255
        url str https://example.com/a?b=%20#c
        uuid str E621E1F8-C36C-495A-93FC-0C247A3E6E5F

        """

    @Test("What one run of a program sets is read by the next one, and by Python")
    func twoRuns() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("settings.plist")
        let first = try await Subprocess.finished("Peer", ["every-type", "set", path])
        #expect(first.status == 0 && first.errors.isEmpty, "\(first.errors)")
        let second = try await Subprocess.finished("Peer", ["every-type", "read", path])
        #expect(second.text == "42 of 43 are stored, none is missing except [\"none\"]\n", "\(second.errors)")
        let oracle = try await Subprocess.finished("python3", ["-c", Self.script, path])
        #expect(oracle.text == Self.expected, "\(oracle.errors)")
    }

    @Test("A program that has set nothing reads the defaults, and each differs from what is set")
    func unset() async throws {
        let folder = try TemporaryFolder()
        let program = try await Subprocess.finished("Peer", ["every-type", "read", folder.path("settings.plist")])
        #expect(program.text.split(separator: "\n").filter { $0.hasPrefix("different: ") }.count == 42, "\(program.errors)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path).isEmpty)
    }
}
