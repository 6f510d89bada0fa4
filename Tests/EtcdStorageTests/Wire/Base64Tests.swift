import Foundation
import TestSupport
import Testing

@testable import EtcdStorage

@Suite("Base64", .timeLimit(.minutes(10))) struct Base64Tests {
    private func text(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        Base64.encode(bytes, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    @Test("Bytes of every length are written as Foundation writes them, and read back", arguments: 0..<70)
    func lengths(count: Int) {
        var generator = SeededGenerator(seed: UInt64(count))
        for _ in 0..<50 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(text(bytes) == Data(bytes).base64EncodedString())
            #expect(Base64.decode(Array(text(bytes).utf8)[...]) == bytes)
        }
    }

    @Test(
        "Text that is not exactly base64 is refused",
        arguments: [
            "A", "AA", "AAA", "AA=", "A===", "====", "=AAA", "AA=A", "A=A=", "AB==", "AAB=", "AAAA=", "AA==AAAA", "AA A", "AAA\n", "AA-_",
            "AA,A",
            "é==", "AA==\n",
        ])
    func damaged(text: String) {
        #expect(Base64.decode(Array(text.utf8)[...]) == nil)
    }

    @Test("Text with the same bytes is the same text")
    func canonical() {
        var generator = SeededGenerator(seed: 7)
        let digits = Array("ABCDwxyz0189+/==".utf8)
        for _ in 0..<(isLong ? 100_000 : 5_000) {
            let input = (0..<Int.random(in: 0...12, using: &generator)).map { _ in digits.randomElement(using: &generator) ?? 0 }
            guard let bytes = Base64.decode(input[...]) else { continue }
            #expect(text(bytes) == String(decoding: input, as: UTF8.self))
        }
    }

    @Test("A slice is decoded wherever it stands in its array")
    func slice() {
        #expect(Base64.decode(Array("xyAQIDxy".utf8)[2..<6]) == [1, 2, 3])
        #expect(Base64.decode(Array("xyAQI=xy".utf8)[2..<6]) == [1, 2])
    }
}
