import Foundation
import PropertyListCoding
import TestSupport

extension PropertyListValue {
    /// A value that both formats can represent.
    static func random(depth: Int = 4, using generator: inout SeededGenerator) -> PropertyListValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 7), using: &generator) {
        case 0: return .string(.random(using: &generator))
        case 1: return .integer(PropertyListInteger(Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<64, using: &generator)))
        case 2: return .integer(PropertyListInteger(generator.next()))
        case 3:
            let real = Double(bitPattern: generator.next())
            return .real(real.isNaN ? .nan : real)
        case 4: return .boolean(Bool.random(using: &generator))
        case 5:
            return .date(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: -63_113_904_000...252_423_993_599, using: &generator))))
        case 6:
            return .data(Data((0..<Int.random(in: 0..<100, using: &generator)).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        case 7: return .array((0..<Int.random(in: 0..<20, using: &generator)).map { _ in random(depth: depth - 1, using: &generator) })
        default:
            var entries: [String: PropertyListValue] = [:]
            for _ in 0..<Int.random(in: 0..<20, using: &generator) {
                entries[String.random(using: &generator)] = random(depth: depth - 1, using: &generator)
            }
            return .dictionary(entries)
        }
    }
}

extension PropertyListValue {
    /// The value with random changes, which keep most of a container; nil to remove it.
    func edited(using generator: inout SeededGenerator) -> PropertyListValue? {
        switch (Int.random(in: 0..<5, using: &generator), self) {
        case (0, _): return nil
        case (1, _): return .random(depth: 2, using: &generator)
        case (2, .array(let elements)): return .array(elements.dropLast())
        case (3, .array(let elements)): return .array(elements + [.random(depth: 1, using: &generator)])
        case (_, .array(let elements)): return .array(elements.map { $0.edited(using: &generator) ?? $0 })
        case (_, .dictionary(var entries)):
            for (key, value) in entries.sorted(by: { $0.key < $1.key }) where Bool.random(using: &generator) {
                entries[key] = value.edited(using: &generator)
            }
            if Bool.random(using: &generator) { entries["new"] = .random(depth: 1, using: &generator) }
            return .dictionary(entries)
        default: return .random(depth: 0, using: &generator)
        }
    }
}

extension String {
    /// Text of characters that XML can represent, without a leading U+FEFF.
    static func random(using generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        let ranges: [ClosedRange<UInt32>] = [
            0x20...0x7E, 0x20...0x7E, 0x9...0xA, 0xD...0xD, 0xA0...0x24F, 0x4E00...0x9FFF, 0x1F300...0x1F6FF,
        ]
        let range = ranges[Int.random(in: 0..<ranges.count, using: &generator)]
        for _ in 0..<Int.random(in: 0..<30, using: &generator) {
            let code = UInt32.random(in: Bool.random(using: &generator) ? 0x20...0x7E : range, using: &generator)
            text.append(Unicode.Scalar(code) ?? " ")
        }
        return String(text)
    }
}
