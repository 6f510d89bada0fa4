import TestSupport

/// Texts in JSON that use every part of its grammar, and damaged ones.
enum RandomJSON {
    private static let pieces = [
        "a", "revision", " ", #"\n"#, #"\""#, #"\\"#, #"\/"#, #"\u0041"#, #"\uD83D\uDE00"#, "é", "😀", #"\t"#, "+/==", "0123",
    ]
    private static let numbers = ["0", "-0", "1", "-17", "1.5", "2e3", "-2.25E-2", "1e+2", "9007199254740991", "123456789"]
    private static let spaces = ["", "", "", " ", "\n", "\t ", "\r\n"]

    /// A random text.
    static func text(depth: Int, using generator: inout SeededGenerator) -> [UInt8] {
        Array((space(&generator) + value(depth, &generator) + space(&generator)).utf8)
    }

    /// A text with some bytes replaced, removed, added or repeated.
    static func mutated(_ text: [UInt8], using generator: inout SeededGenerator) -> [UInt8] {
        var text = text
        for _ in 0..<Int.random(in: 1...3, using: &generator) where !text.isEmpty {
            let index = Int.random(in: 0..<text.count, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: text[index] = UInt8.random(in: 0...255, using: &generator)
            case 1: text.remove(at: index)
            case 2: text.insert(UInt8.random(in: 0x20...0x7E, using: &generator), at: index)
            case 3: text[index] = Array(#"{}[]",:\eu0-.tfn "#.utf8).randomElement(using: &generator) ?? 0
            default: text.insert(contentsOf: text[index..<min(index + 5, text.count)], at: index)
            }
        }
        return text
    }

    private static func value(_ depth: Int, _ generator: inout SeededGenerator) -> String {
        switch Int.random(in: 0..<(depth > 0 ? 10 : 6), using: &generator) {
        case 0: ["true", "false", "null"].randomElement(using: &generator) ?? ""
        case 1, 2: numbers.randomElement(using: &generator) ?? ""
        case 3..<6: string(&generator)
        case 6, 7: "[" + list(depth, &generator) { value(depth - 1, &$0) } + "]"
        default: "{" + list(depth, &generator) { "\(string(&$0))\(space(&$0)):\(space(&$0))\(value(depth - 1, &$0))" } + "}"
        }
    }

    private static func list(
        _ depth: Int, _ generator: inout SeededGenerator, _ element: (inout SeededGenerator) -> String
    ) -> String {
        var elements: [String] = []
        for _ in 0..<Int.random(in: 0..<4, using: &generator) {
            elements.append(space(&generator) + element(&generator) + space(&generator))
        }
        return elements.isEmpty ? space(&generator) : elements.joined(separator: ",")
    }

    private static func string(_ generator: inout SeededGenerator) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0..<5, using: &generator) { text += pieces.randomElement(using: &generator) ?? "" }
        // Names differ, so that it does not matter which of several members is kept.
        return "\"\(text)\(UInt32.random(in: 0...UInt32.max, using: &generator))\""
    }

    private static func space(_ generator: inout SeededGenerator) -> String {
        spaces.randomElement(using: &generator) ?? ""
    }
}
