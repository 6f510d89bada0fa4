import Foundation
import PropertyListCoding
import Testing

@Suite("Damaged bytes", .timeLimit(.minutes(5))) struct MutationTests {
    @Test(
        "Damage ends in an error with a place and a reason, or in a value that can be written and read again",
        arguments: 1...4 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var values = 0
        for round in 0..<50 {
            let value: PropertyListValue = ["value": .random(depth: 3, using: &generator), "uid": .uid(7), "text": "tüxt"]
            for format in PropertyListFormat.allCases {
                let whole = [UInt8](try value.encoded(as: format))
                for _ in 0..<50 {
                    let damaged = Data(damage(whole, round: round, using: &generator))
                    do throws(PropertyListError) {
                        let decoded = try PropertyListValue.decode(damaged).value
                        values += 1
                        let again = try decoded.encoded(as: .binary)
                        if try PropertyListValue.decode(again).value != decoded {
                            Issue.record("not the same again: seed \(seed), \(damaged.base64EncodedString())")
                        }
                    } catch {
                        let isPlaced = error.offset.map { 0...damaged.count ~= $0 } ?? false
                        if !isPlaced || error.reason.isEmpty {
                            Issue.record("\(error): seed \(seed), \(damaged.base64EncodedString())")
                        }
                    }
                }
            }
        }
        #expect(values > 0)
    }

    /// Flips, overwrites, removes, repeats or inserts some bytes; mostly near the end, where a binary list keeps its tables.
    private func damage(_ whole: [UInt8], round: Int, using generator: inout SeededGenerator) -> [UInt8] {
        var bytes = whole
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
            let start = Bool.random(using: &generator) ? max(0, bytes.count - 60) : 0
            let place = Int.random(in: start..<bytes.count, using: &generator)
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            case 1:
                bytes[place] = [0, 0xFF, 0x7F, 0x80, 0x3C, 0x26, 0xA1, 0xD1, 0x4F, 0x5F, 0x6F][Int.random(in: 0..<11, using: &generator)]
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &generator)))
            case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 16)], at: place)
            case 4: bytes.insert(UInt8.random(in: 0...255, using: &generator), at: place)
            default: bytes[place] = UInt8.random(in: 0...255, using: &generator)
            }
        }
        return bytes
    }
}
