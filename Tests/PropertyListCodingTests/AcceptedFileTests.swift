import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// Damaged bytes that can be read have the same value in other readers. `OBSERVABLE_STORAGE_SEED` sets the seed.
@Suite("Damaged files that are accepted", .timeLimit(.minutes(isLong ? 60 : 10)), .enabled(if: ProgramOracleTests.hasPython))
struct AcceptedFileTests {
    /// A file that was read, and its value.
    struct Accepted {
        let file: Data
        let value: PropertyListValue

        /// The same without parts that are ignored here and errors in other readers.
        var bare: Accepted {
            guard file.starts(with: "bplist".utf8) else { return Accepted(file: BareDocument(file).data, value: value) }
            // Foundation accepts any last digit of the version, `plistlib` requires 0.
            return Accepted(file: Data("bplist00".utf8) + file.dropFirst(8), value: value)
        }
    }

    private static let count = isLong ? 100_000 : isOptimized ? 3_000 : 750

    @Test("Foundation reads the same, or else plistlib, if necessary without parts that are ignored here and errors there")
    func oracles() throws {
        var mutator = InputMutator(seed: firstSeed, files: [])
        var rest: [Accepted] = []
        while rest.count < Self.count {
            let input = mutator.next()
            // JSON is compared with other readers of JSON.
            guard let value = InputCheck(input, isEdited: false).value, try PropertyListValue.decode(input).format != .json else {
                continue
            }
            rest.append(Accepted(file: input, value: value))
        }
        rest = try disagreeing(rest) { try (Oracle.foundation($0), \.exactText) }
        // Most of them must not need an exception.
        #expect(rest.count < Self.count / 4)
        // Foundation on Linux reads the lower half of an integer of 16 bytes as an unsigned number.
        rest = try disagreeing(rest) { try (Oracle.plistlib($0), \.millisecondText) }
        rest = rest.map(\.bare)
        rest = try disagreeing(rest) { try (Oracle.foundation($0), \.exactText) }
        rest = try disagreeing(rest) { try (Oracle.plistlib($0), \.millisecondText) }
        for accepted in rest {
            let text = String(decoding: accepted.file, as: UTF8.self).debugDescription
            Issue.record("seed \(firstSeed): \(accepted.value.exactText) is read from \(text)")
        }
    }

    /// The files that another reader rejects or reads differently.
    private func disagreeing(
        _ accepted: [Accepted], with oracle: ([Data]) throws -> (answers: [Oracle.Answer], text: KeyPath<PropertyListValue, String>)
    ) throws -> [Accepted] {
        let (answers, text) = try oracle(accepted.map(\.file))
        try #require(answers.count == accepted.count)
        return zip(accepted, answers).filter { accepted, answer in answer != .read(accepted.value[keyPath: text]) }.map(\.0)
    }
}
