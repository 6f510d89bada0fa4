import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("plistlib and plutil") struct ProgramOracleTests {
    /// Values that both formats can represent, including uids, each as binary and as XML.
    static let cases: [(value: PropertyListValue, data: Data)] = {
        var generator = SeededGenerator(seed: 2)
        let values = [Sample.common] + (0..<100).map { _ in PropertyListValue.random(using: &generator) }
        return values.flatMap { value in
            PropertyListFormat.ofEveryType.compactMap { format in (try? value.encoded(as: format)).map { (value, $0) } }
        }
    }()

    @Test("plistlib reads what was written, bit for bit, and its output is read", .enabled(if: Self.hasPython))
    func plistlib() throws {
        let marked = PropertyListValue.array(Sample.markedTexts.map { .string($0) })
        let cases =
            try Self.cases + [(marked, marked.encoded(as: .binary)), (marked, marked.encoded(as: .xml))]
        let answers = try Self.python(
            """
            import sys, base64, plistlib
            for line in sys.stdin:
                value = plistlib.loads(base64.b64decode(line))
                for format in (plistlib.FMT_BINARY, plistlib.FMT_XML):
                    print(base64.b64encode(plistlib.dumps(value, fmt=format)).decode())
            """, cases.map(\.data))
        try #require(answers.count == cases.count * 2)
        for (index, (value, _)) in cases.enumerated() {
            // Its writer merges 0.0 and -0.0 into the first one.
            #expect(try PropertyListValue.decode(answers[2 * index]).value.equalsButForZeros(value))
            #expect(try PropertyListValue.decode(answers[2 * index + 1]).value.equalsButForZeros(value.withoutReturns))
        }
    }

    @Test("plistlib reads uids, -0.0, and fractions of seconds to the microsecond", .enabled(if: Self.hasPython))
    func binaryOnly() throws {
        let uids = PropertyListValue.array((Sample.uids + [.max]).map { .uid($0) } + [-0.0])
        let value = PropertyListValue.array(Sample.fractionalDates.map { .date($0) })
        let answers = try Self.python(
            """
            import sys, base64, plistlib
            for line in sys.stdin:
                print(base64.b64encode(plistlib.dumps(plistlib.loads(base64.b64decode(line)), fmt=plistlib.FMT_BINARY)).decode())
            """, [value.encoded(as: .binary), uids.encoded(as: .binary)])
        #expect(try PropertyListValue.decode(try #require(answers.last)).value == uids)
        guard case .array(let dates) = try PropertyListValue.decode(try #require(answers.first)).value else { return }
        try #require(dates.count == Sample.fractionalDates.count)
        for (date, expected) in zip(dates, Sample.fractionalDates) {
            guard case .date(let date) = date else {
                Issue.record("not a date: \(date)")
                continue
            }
            #expect(abs(date.timeIntervalSince(expected)) < 2e-6)
        }
    }

    @Test("plutil accepts and converts what was written", .enabled(if: Self.hasPlutil), arguments: ["binary1", "xml1"])
    func plutil(format: String) throws {
        let folder = try TemporaryFolder()
        let names = Self.cases.indices.map { "\($0).plist" }
        for (name, (_, data)) in zip(names, Self.cases) { try data.write(to: folder.file(name)) }
        let paths = names.map { folder.path($0) }
        let lint = try Subprocess.run("plutil", ["-lint"] + paths)
        #expect(lint.status == 0, "\(lint.text.suffix(500)) \(lint.errors)")
        let conversion = try Subprocess.run("plutil", ["-convert", format] + paths)
        #expect(conversion.status == 0, "\(conversion.errors)")
        for (name, (value, _)) in zip(names, Self.cases) {
            let converted = try PropertyListValue.decode(Data(contentsOf: folder.file(name))).value
            #expect(format == "xml1" ? converted.equalsButForZeros(value) : converted == value, "\(name)")
        }
    }
}

extension ProgramOracleTests {
    static let hasPython = succeeds("python3", ["-c", "import plistlib; plistlib.UID"])
    static let hasPlutil = succeeds("plutil", ["-help"])

    private static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
        (try? Subprocess.run(program, arguments).status) == 0
    }

    /// Runs a script that receives data as lines of base64 and answers in the same way.
    private static func python(_ script: String, _ input: [Data]) throws -> [Data] {
        let lines = input.map { $0.base64EncodedString() + "\n" }.joined()
        let run = try Subprocess.run("python3", ["-c", script], input: Data(lines.utf8))
        #expect(run.status == 0, "\(run.errors)")
        return run.text.split(separator: "\n").compactMap { Data(base64Encoded: String($0)) }
    }
}

extension PropertyListValue {
    /// The value as plistlib writes it in XML: with line feeds where there are carriage returns.
    fileprivate var withoutReturns: PropertyListValue {
        switch self {
        case .string(let string): .string(string.withoutReturns)
        case .array(let elements): .array(elements.map(\.withoutReturns))
        case .dictionary(let entries):
            .dictionary(Dictionary(entries.map { ($0.withoutReturns, $1.withoutReturns) }, uniquingKeysWith: { $1 }))
        default: self
        }
    }

    /// Whether two values are equal except for the sign of zeros.
    fileprivate func equalsButForZeros(_ other: PropertyListValue) -> Bool {
        switch (self, other) {
        case (.real(let left), .real(let right)): left == right || self == other
        case (.array(let left), .array(let right)): left.count == right.count && zip(left, right).allSatisfy { $0.equalsButForZeros($1) }
        case (.dictionary(let left), .dictionary(let right)):
            left.count == right.count && left.allSatisfy { right[$0]?.equalsButForZeros($1) ?? false }
        default: self == other
        }
    }
}

extension String {
    fileprivate var withoutReturns: String {
        String(String.UnicodeScalarView(replacingOccurrences(of: "\r\n", with: "\n").unicodeScalars.map { $0 == "\r" ? "\n" : $0 }))
    }
}
