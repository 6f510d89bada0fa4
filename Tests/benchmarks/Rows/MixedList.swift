import Foundation
import PropertyListCoding
import TestSupport

/// Property lists on which codecs are compared: entries of every type, and the extremes of one type.
enum MixedList {
    /// A dictionary with the given number of entries of all types, some of them nested.
    static func make(_ count: Int) -> PropertyListValue {
        var generator = SeededGenerator(seed: 34)
        var entries: [String: PropertyListValue] = [:]
        entries.reserveCapacity(count)
        for index in 0..<count { entries["\(words[index % words.count]).\(index)"] = value(using: &generator) }
        return .dictionary(entries)
    }

    /// An array of texts of a size in characters.
    static func texts(_ count: Int, of size: Int, from alphabet: String) -> PropertyListValue {
        var generator = SeededGenerator(seed: 34)
        let alphabet = Array(alphabet.unicodeScalars)
        return .array((0..<count).map { _ in .string(text(size, from: alphabet, using: &generator)) })
    }

    /// An array of the same text.
    static func equalTexts(_ count: Int) -> PropertyListValue {
        .array(Array(repeating: .string("the same text everywhere"), count: count))
    }

    /// Random data.
    static func data(_ size: Int) -> PropertyListValue {
        var generator = SeededGenerator(seed: 34)
        return .data(Data((0..<size / 8).flatMap { _ in withUnsafeBytes(of: generator.next()) { Array($0) } }))
    }

    static let ascii = "etaoin shrdlu cmfwyp vbgkjq xz.,0123456789"
    static let cyrillic = "о е а и н т с р в л к м д п у я ы ь г з б ч й х ж ш ю ц щ э ф ё"
    static let chinese = "的一是不了在人有我他这为之大来以个中上们到说国和地也子时道出而要于就下得可你年生"

    private static let words = ["window", "editor.font", "network", "recent", "account", "Größe", "sync.state"]
    private static let alphabets = [ascii, ascii, ascii, "äöüß etaoinsr", cyrillic, chinese, "😀🎉🚀 ok"].map { Array($0.unicodeScalars) }

    private static func value(isLeaf: Bool = false, using generator: inout SeededGenerator) -> PropertyListValue {
        switch Int.random(in: 0..<(isLeaf ? 8 : 10), using: &generator) {
        case 0, 1:
            let alphabet = alphabets[Int.random(in: 0..<alphabets.count, using: &generator)]
            return .string(text(Int.random(in: 3...60, using: &generator), from: alphabet, using: &generator))
        case 2, 3: return .integer(PropertyListInteger(Int64(bitPattern: generator.next()) >> Int64.random(in: 0..<64, using: &generator)))
        case 4: return .real(Double(Int.random(in: -1_000_000...1_000_000, using: &generator)) / 128)
        case 5: return .boolean(Bool.random(using: &generator))
        case 6: return .date(Date(timeIntervalSinceReferenceDate: Double(Int.random(in: 0...1_000_000_000, using: &generator))))
        case 7:
            let size = Int.random(in: 0...64, using: &generator)
            return .data(Data((0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }))
        case 8: return .array((0..<Int.random(in: 1...6, using: &generator)).map { _ in value(isLeaf: true, using: &generator) })
        default:
            var entries: [String: PropertyListValue] = [:]
            for index in 0..<Int.random(in: 1...5, using: &generator) { entries[words[index]] = value(isLeaf: true, using: &generator) }
            return .dictionary(entries)
        }
    }

    private static func text(_ count: Int, from alphabet: [Unicode.Scalar], using generator: inout SeededGenerator) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<count { text.append(alphabet[Int(generator.next() % UInt64(alphabet.count))]) }
        return String(text)
    }
}
