import Foundation
import PropertyListCoding
import TestSupport
import Testing

/// `OBSERVABLE_STORAGE_SEED` sets the seed, `OBSERVABLE_STORAGE_CORPUS` names a folder whose files are damaged too.
@Suite("Damaged bytes", .timeLimit(.minutes(isLong ? 60 : 10))) struct MutationTests {
    static let inputsPerSeed = isLong ? 1_000_000 : isOptimized ? 30_000 : 1_000
    static let seeds: [UInt64] = (0..<10).map { firstSeed + $0 }

    @Test("Damaged bytes are an error with an offset and a reason, or a value that can be written and read again", arguments: Self.seeds)
    func mutations(seed: UInt64) async throws {
        var mutator = InputMutator(seed: seed, files: Self.corpus)
        var accepted = 0
        for number in 1...Self.inputsPerSeed {
            // Other tests run on this thread, too.
            if number.isMultiple(of: 100) { await Task.yield() }
            let input = mutator.next()
            let check = InputCheck(input, isEdited: number.isMultiple(of: 16))
            if check.value != nil { accepted += 1 }
            if let violation = check.violation {
                Issue.record("\(violation): seed \(seed), input \(number), \(input.base64EncodedString())")
            }
        }
        // If nearly all were rejected, the readers would hardly be tested.
        #expect(accepted > Self.inputsPerSeed / 25)
    }

    /// The smaller files below the folder that the environment names, if any.
    private static let corpus: [[UInt8]] = {
        guard let path = ProcessInfo.processInfo.environment["OBSERVABLE_STORAGE_CORPUS"] else { return [] }
        let folder = URL(fileURLWithPath: path)
        let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        let files = names.sorted().compactMap { try? Data(contentsOf: folder.appendingPathComponent($0)) }
        return files.filter { 1...16_384 ~= $0.count }.map { [UInt8]($0) }
    }()
}
