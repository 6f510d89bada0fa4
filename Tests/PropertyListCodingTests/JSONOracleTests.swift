import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// `OBSERVABLE_STORAGE_SEED` sets the seed.
@Suite("Python's json, and JSONSerialization", .timeLimit(.minutes(isLong ? 60 : 10))) struct JSONOracleTests {
    private static let values: [PropertyListValue] = {
        var generator = SeededGenerator(seed: firstSeed)
        return (0..<300).map { _ in ["value": PropertyListValue.random(using: &generator).asJSONValue] }
    }()

    @Test("Python reads what was written, bit for bit", .enabled(if: ProgramOracleTests.hasPython))
    func pythonReads() throws {
        let answers = try Oracle.json(Self.values.map { try $0.encoded(as: .json) })
        try #require(answers.count == Self.values.count)
        for (value, answer) in zip(Self.values, answers) { #expect(answer == .read(value.exactText)) }
    }

    @Test("Python reads damaged text as the same value, or both refuse it", .enabled(if: ProgramOracleTests.hasPython))
    func damaged() throws {
        var generator = SeededGenerator(seed: firstSeed)
        var mutator = InputMutator(seed: firstSeed, files: [])
        let own: [Data] = (0..<(isLong ? 50_000 : 1_500)).map { _ in
            let document = HandwrittenJSON.random(isStrict: true, using: &generator)
            return mutator.damaged(document.data)
        }
        let texts = own.filter { String(validating: $0, as: UTF8.self) != nil && !$0.starts(with: "\u{FEFF}".utf8) }
        let answers = try Oracle.json(texts)
        try #require(answers.count == texts.count)
        var accepted = 0
        for (text, answer) in zip(texts, answers) {
            let value = try? JSONReader.value(of: String(decoding: text, as: UTF8.self))
            if value != nil { accepted += 1 }
            if answer != (value.map { .read($0.exactText) } ?? .refused) {
                Issue.record("seed \(firstSeed): \(answer) for \(String(decoding: text, as: UTF8.self).debugDescription)")
            }
            // A file may have more than a text, and is read as the same value otherwise.
            if let value, case .dictionary = value { #expect(try PropertyListValue.decode(text).value == value) }
        }
        #expect(accepted > texts.count / 20)
    }

    @Test("JSONSerialization reads what was written, and what it writes is read")
    func foundation() throws {
        for value in Self.values.map(\.withModestReals) {
            let object = try JSONSerialization.jsonObject(with: value.encoded(as: .json))
            #expect(Self.isEqual(object, value))
            let text = try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted])
            #expect(Self.isEqual(object, try PropertyListValue.decode(text).value))
        }
    }

    /// Whether Foundation has read a value. It reads some reals as decimals, which are converted inexactly, and writes whole ones as integers.
    private static func isEqual(_ object: Any, _ value: PropertyListValue) -> Bool {
        switch value {
        case .string(let text): (object as? String).map { $0.utf8.elementsEqual(text.utf8) } ?? false
        case .boolean(let boolean): object as? Bool == boolean
        case .integer(let integer):
            // Python's answers tell whether integers are exact.
            (object as? NSNumber).map { $0.stringValue == integer.description || $0.doubleValue == Double(integer.description) } ?? false
        case .real(let real): (object as? NSNumber).map { abs($0.doubleValue - real) <= abs(real) * 1e-15 } ?? false
        case .array(let elements):
            (object as? [Any]).map { $0.count == elements.count && zip($0, elements).allSatisfy { isEqual($0, $1) } } ?? false
        case .dictionary(let entries):
            (object as? [String: Any]).map { object in
                object.count == entries.count && object.allSatisfy { key, value in entries[key].map { isEqual(value, $0) } ?? false }
            } ?? false
        case .date, .data, .uid: false
        }
    }
}

extension PropertyListValue {
    /// The value without reals that Foundation reads inexactly, or writes as integers of more than 64 bits.
    fileprivate var withModestReals: PropertyListValue {
        switch self {
        case .real(let real): .real((1e-5..<1e15).contains(real.magnitude) ? real : 0.5)
        case .array(let elements): .array(elements.map(\.withModestReals))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.withModestReals))
        default: self
        }
    }

    /// A similar value that JSON has a form for.
    var asJSONValue: PropertyListValue {
        switch self {
        case .date(let date): .real(date.timeIntervalSinceReferenceDate)
        case .data(let data): .string(data.base64EncodedString())
        case .uid(let uid): .integer(PropertyListInteger(uid))
        case .real(let real): .real(real.isFinite ? real : 0.5)
        case .array(let elements): .array(elements.map(\.asJSONValue))
        case .dictionary(let entries): .dictionary(entries.mapValues(\.asJSONValue))
        case .string, .integer, .boolean: self
        }
    }
}
