import Foundation
import PropertyListCoding
import Testing

@Suite("Linear time", .timeLimit(.minutes(10))) struct LinearTimeTests {
    /// A kind of input that can be made of any size.
    struct Shape: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (Int) -> Data

        init(_ description: String, _ make: @escaping @Sendable (Int) -> Data) {
            (testDescription, self.make) = (description, make)
        }

        /// A text of parts.
        init(_ start: String, repeating part: String, _ end: String, encoding: String.Encoding = .utf8) {
            self.init("\(start)\(part.prefix(20))…\(end) in \(encoding)") { count in
                (start + String(repeating: part, count: count) + end).data(using: encoding) ?? Data()
            }
        }
    }

    // The processor time of this thread, which excludes other work on the machine. Linear time is a factor of 8, quadratic time 64.
    // Other work still evicts caches: a slow reading is repeated, and remains slow in quadratic time.
    @Test("Eight times the input is read, or rejected, in about eight times the time", arguments: shapes)
    func eightfold(_ shape: Shape) throws {
        let (small, large) = (shape.make(2_000), shape.make(16_000))
        try #require(large.count > 7 * small.count)
        let limit = try 24 * (0..<3).map { _ in try milliseconds(small) }.reduce(.infinity, min) + 2
        #expect(try (0..<20).contains { _ in try milliseconds(large) < limit })
    }

    @Test("Eight times the numbers of a container that nobody refers to are edited, or refused, in about eight times the time")
    func aliases() throws {
        func edit(_ count: Int) throws -> Double {
            let elements = [0xAF, 0x12] + BinaryList.bytes(UInt64(count), 4) + Array(repeating: 2, count: count)
            var list = BinaryList([0xD1, 1, 2], Array("Qk".utf8), [0x10, 7], elements)
            list.offsets = (0..<count).map { list.offset(of: min($0, 3)) }
            let document = list.data
            try #require(try PropertyListValue.decode(document).value == .dictionary(["k": 7]))
            let start = try Self.processorTime()
            let edited = PropertyListValue.document(document, after: ["k": .some(8)], existing: 1)
            let time = try Self.processorTime() - start
            #expect(edited == nil)
            return time
        }
        let limit = try 24 * (0..<3).map { _ in try edit(2_000) }.reduce(.infinity, min) + 2
        #expect(try (0..<20).contains { _ in try edit(16_000) < limit })
    }

    @Test("Eight times the values inside containers are edited in about eight times the time", arguments: [false, true])
    func edits(removes: Bool) throws {
        func edit(_ count: Int) throws -> Double {
            let names = (0..<count).map { "\($0)" }
            let members = names.map { "\"\($0)\": {\"a\": 1, /* b */ \"c\": [2]}" }
            let document = Data("{\(members.joined(separator: ",\n"))}".utf8)
            let entries = Dictionary(uniqueKeysWithValues: names.map { ($0, PropertyListValue.dictionary(["a": 1, "c": [2]])) })
            let new: PropertyListValue = removes ? ["c": []] : ["a": 2, "c": [2, 3], "d": 4]
            let edits = entries.mapValues { _ in PropertyListValue?.some(new) }
            let start = try Self.processorTime()
            _ = try PropertyListValue.text(of: document, after: edits, of: entries)
            return try Self.processorTime() - start
        }
        let limit = try 24 * (0..<3).map { _ in try edit(2_000) }.reduce(.infinity, min) + 2
        #expect(try (0..<20).contains { _ in try edit(16_000) < limit })
    }

    private func milliseconds(_ data: Data) throws -> Double {
        let start = try Self.processorTime()
        _ = failure(of: data)
        return try Self.processorTime() - start
    }

    private static func processorTime() throws -> Double {
        var time = timespec()
        try #require(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time) == 0)
        return Double(time.tv_sec) * 1e3 + Double(time.tv_nsec) / 1e6
    }

    static let shapes: [Shape] =
        documents + [
            Shape("binary: one array of one string") { count in
                list([reference(0xA, Array(repeating: 1, count: count)), Array("Qx".utf8)])
            },
            Shape("binary: many dictionaries with one key") { count in
                list(
                    [reference(0xA, Array(1...count))] + Array(repeating: reference(0xD, [count + 1, count + 2], count: 1), count: count)
                        + [Array("Qk".utf8), [0x09]])
            },
            Shape("binary: many keys") { count in
                let keys = (0..<count).map { [0x58] + Array("k\(1_000_000 + $0)".utf8) }
                return list([reference(0xD, Array(1...count) + Array(repeating: count + 1, count: count), count: count)] + keys + [[0x09]])
            },
            Shape("binary: arrays inside one another") { count in
                list((1..<count).map { reference(0xA, [$0]) } + [[0xA0]])
            },
            Shape("binary: a long string referred to many times") { count in
                list([
                    reference(0xA, Array(repeating: 1, count: count)),
                    [0x5F, 0x12] + BinaryList.bytes(UInt64(count), 4) + Array(repeating: 0x61, count: count),
                ])
            },
            Shape("binary: long data referred to many times") { count in
                list([
                    reference(0xA, Array(repeating: 1, count: count)),
                    [0x4F, 0x12] + BinaryList.bytes(UInt64(count), 4) + Array(repeating: 0x61, count: count),
                ])
            },
            Shape("binary: strings that overlap") { count in
                var overlapping = BinaryList(
                    objects: [reference(0xA, Array(1...count))] + Array(repeating: [0x5F, 0x11, 0x07, 0x00], count: count))
                (overlapping.referenceSize, overlapping.offsetSize) = (4, 4)
                return overlapping.data
            },
        ]

    static let documents = [
        Shape("<array>", repeating: "<true/>", "</array>"), Shape("", repeating: "<array>", ""),
        Shape("<array>", repeating: "<string>a</string>", "</array>", encoding: .utf16),
        Shape("<string>", repeating: "&amp;", "</string>"), Shape("<string>", repeating: "&#x41;é", "</string>"),
        Shape("<string>", repeating: "<![CDATA[a]]>", "</string>"), Shape("<string>", repeating: "é", "<wrong/>", encoding: .utf16),
        Shape("", repeating: "<!-- a -->", "<true/>"), Shape("", repeating: "<!--", ""), Shape("<!--", repeating: "-", ""),
        Shape("", repeating: "<?a?>", "<true/>"), Shape("<?", repeating: "?", ""), Shape("<![CDATA[", repeating: "]", ""),
        Shape("<!DOCTYPE a [", repeating: "<!ENTITY a \"b\">", "]><true/>"), Shape("", repeating: "<!DOCTYPE a>", "<true/>"),
        Shape("<!DOCTYPE a [", repeating: "<!", ""), Shape("<data>", repeating: "AA A", "</data>"),
        Shape("<integer>", repeating: "0", "</integer>"),
        Shape("<real>", repeating: "1", "</real>"), Shape("<real>1e", repeating: "0", "</real>"),
        Shape("<date>", repeating: " ", "</date>"),
        Shape("[", repeating: "1,", "]"), Shape("[1", repeating: "0", "]"), Shape("[1.", repeating: "0", "]"),
        Shape("[1e", repeating: "0", "]"),
        Shape("[\"", repeating: "\\u0041", "\"]"), Shape("[\"", repeating: "é", "\"]", encoding: .utf16), Shape("", repeating: "[", ""),
        Shape("", repeating: "{\"a\":", ""), Shape("{", repeating: "\"a\":1,", "}"), Shape("{", repeating: "\"a\":null,", "}"),
        Shape("[", repeating: "/* a */", "]"), Shape("[", repeating: "/*", "]"), Shape("", repeating: "//\n", "[]"),
        Shape("[", repeating: "{},", "]"),
        Shape("", repeating: " ", ""), Shape("<true ", repeating: "a='b' ", "/>"),
        Shape("<dict>", repeating: "<key>a</key><true/>", "</dict>"),
        Shape("<dict><key>", repeating: "e\u{301}", "</key><true/></dict>"), Shape("{", repeating: "\"", ""),
        Shape("<string>", repeating: "<", ""),
    ]

    /// An array or a dictionary of references of 4 bytes.
    private static func reference(_ kind: UInt8, _ objects: [Int], count: Int? = nil) -> [UInt8] {
        [kind << 4 | 0xF, 0x12] + BinaryList.bytes(UInt64(count ?? objects.count), 4) + objects.flatMap { BinaryList.bytes(UInt64($0), 4) }
    }

    private static func list(_ objects: [[UInt8]]) -> Data {
        var list = BinaryList(objects: objects)
        (list.referenceSize, list.offsetSize) = (4, 4)
        return list.data
    }
}
