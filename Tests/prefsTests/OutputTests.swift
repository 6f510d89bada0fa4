import Foundation
import ObservableStorage
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("Untrusted text", .timeLimit(.minutes(10)))
struct TextOfOthersTests {
    @Test("Control characters and bidirectional formatting are escaped; line feeds, tabs and all other text are kept")
    func printable() {
        #expect(
            "\u{1b}]0;x\u{7}a\u{9b}2J\u{7f}\u{202e}b\u{2066}\u{61c}".printable == #"\u{1b}]0;x\u{7}a\u{9b}2J\u{7f}\u{202e}b\u{2066}\u{61c}"#
        )
        #expect("a\n\té 😀 ا א".printable == "a\n\té 😀 ا א")
        #expect("a\r\nb\u{2028}c\u{1b}".printableLine == #"a b c\u{1b}"#)
    }

    @Test("A value is escaped on a terminal, and unchanged for another program")
    func terminal() async throws {
        let folder = try TemporaryFolder()
        try PropertyListValue.dictionary(["k": "\u{1b}[2J"]).encoded(as: .binary).write(to: folder.file("list"))
        let read = [Subprocess.executable("prefs").path, "read", folder.path("list"), "k"]
        let shown = try await Subprocess.finished("python3", ["-c", "import pty, sys; pty.spawn(sys.argv[1:])"] + read)
        #expect(shown.text.contains(#"\u{1b}[2J"#))
        #expect(!shown.text.contains("\u{1b}"))
        #expect(try await tool("read", folder.path("list"), "k").text == "\u{1b}[2J\n")
    }

    @Test("An error shows control characters of a file's name escaped")
    func errors() async throws {
        let folder = try TemporaryFolder()
        let result = try await tool("read", folder.path("\u{1b}[31mred\u{202e}"))
        #expect(result.errors.contains(#"\u{1b}[31mred\u{202e}"#))
        #expect(!result.errors.unicodeScalars.contains { $0.isUnprintable })
    }
}

@Suite("Colours", .timeLimit(.minutes(10)))
struct OutputTests {
    @Test("Text is colored on a terminal that supports colors, unless NO_COLOR is set")
    func terminals() {
        #expect(Output.supportsColours(isTerminal: true, environment: [:]))
        #expect(Output.supportsColours(isTerminal: true, environment: ["NO_COLOR": ""]))
        #expect(!Output.supportsColours(isTerminal: true, environment: ["NO_COLOR": "1"]))
        #expect(!Output.supportsColours(isTerminal: true, environment: ["TERM": "dumb"]))
        #expect(!Output.supportsColours(isTerminal: false, environment: [:]))
    }
}
