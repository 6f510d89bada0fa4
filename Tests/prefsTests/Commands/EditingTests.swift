import Foundation
import PropertyListCoding
import TestSupport
import Testing

@testable import prefs

@Suite("prefs edit", .timeLimit(.minutes(10)))
struct EditingTests {
    private let folder: TemporaryFolder
    private let file: String
    private let original: PropertyListValue = [
        "a": 1, "date": .date(Date(timeIntervalSinceReferenceDate: 0.25)), "nested": ["x": 1, "y": 2], "list": [1, 2],
    ]

    init() throws {
        folder = try TemporaryFolder()
        file = folder.path("settings.plist")
        try original.encoded(as: .binary).write(to: folder.file("settings.plist"))
    }

    private func stored() throws -> PropertyListValue {
        try PropertyListValue.decode(Data(contentsOf: URL(fileURLWithPath: file))).value
    }

    /// Runs the command with a shell script as the editor, in which `$1` is the copy, `$P` the tool and `$F` the file. The script is not
    /// executed itself: a child that another test has just forked may have it open for writing.
    private func edit(_ script: String) async throws -> Subprocess {
        try Data("#!/bin/sh\n\(script)\n".utf8).write(to: folder.file("editor"))
        try FileManager.default.createDirectory(at: folder.file("tmp"), withIntermediateDirectories: true)
        return try await tool(
            "edit", file,
            environment: [
                "VISUAL": "", "EDITOR": "sh \(folder.path("editor"))", "P": Subprocess.executable("prefs").path, "F": file,
                "TMPDIR": folder.path("tmp"),
            ])
    }

    @Test("Ended by a signal, it leaves no copy of the values behind", arguments: [SIGTERM, SIGHUP])
    func ended(signal number: Int32) async throws {
        try Data("ls -l \"$1\" | cut -c1-10; echo started; read line\n".utf8).write(to: folder.file("editor"))
        try FileManager.default.createDirectory(at: folder.file("tmp"), withIntermediateDirectories: true)
        let program = try RunningProgram(
            "prefs", ["edit", file],
            environment: ["VISUAL": "", "EDITOR": "exec sh \(folder.path("editor"))", "TMPDIR": folder.path("tmp")])
        try await program.line { $0 == "started" }
        #expect(program.lines.elements == ["-rw-------", "started"])
        #expect(try copies().count == 1)
        program.signal(number)
        #expect(try await program.status == -number)
        #expect(try copies() == [])
    }

    private func copies() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path("tmp"))
    }

    @Test("The editor gets XML in a private folder, and only what it changed is stored, exactly")
    func editing() async throws {
        let result = try await edit(
            #"ls -ld "$(dirname "$1")" | cut -c1-10 > "$F.mode"; "$P" write "$1" nested.x 5 --int && "$P" delete "$1" a && head -1 "$1" > "$F.head""#
        )
        #expect(result.status == 0, "\(result.errors)")
        #expect(try String(contentsOfFile: file + ".mode", encoding: .utf8) == "drwx------\n")
        #expect(try String(contentsOfFile: file + ".head", encoding: .utf8).hasPrefix("<?xml"))
        #expect(
            try stored() == [
                "date": .date(Date(timeIntervalSinceReferenceDate: 0.25)), "nested": ["x": 5, "y": 2], "list": [1, 2],
            ])
        #expect(try copies() == [])
    }

    @Test("Concurrent changes by others are kept, also in the same dictionary")
    func concurrentEdits() async throws {
        let result = try await edit(#""$P" write "$F" nested.y 7 b.c 8 --int && "$P" write "$1" nested.x 5 --int"#)
        #expect(result.status == 0, "\(result.errors)")
        #expect(
            try stored() == [
                "a": 1, "date": .date(Date(timeIntervalSinceReferenceDate: 0.25)), "nested": ["x": 5, "y": 7], "list": [1, 2],
                "b": ["c": 8],
            ])
    }

    @Test("A value changed both in the copy and by others is an error that keeps both")
    func conflict() async throws {
        let result = try await edit(#""$P" write "$F" nested.x 7 --int && "$P" write "$1" nested.x 5 a 9 --int"#)
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: \(file): key \"nested.x\" was changed by another process meanwhile; nothing was stored"))
        #expect(try #require(stored()["nested"]) == ["x": 7, "y": 2])
        #expect(try stored()["a"] == 1)
        #expect(try copies().count == 1)
    }

    @Test("A copy that is not a property list is kept, and nothing is stored", arguments: ["<plist><dict>\\n<key>", "<array/>", ""])
    func invalidCopy(_ content: String) async throws {
        let result = try await edit("printf '\(content)' > \"$1\"")
        #expect(result.status == 3)
        #expect(result.errors.hasPrefix("prefs: \(file): the edited copy: "))
        #expect(result.errors.contains("; nothing was stored; the edited copy is \(folder.path("tmp"))/prefs-"))
        #expect(result.errors.hasSuffix("/settings.plist\n"))
        #expect(try stored() == original)
        #expect(try copies().count == 1)
    }

    @Test("An editor that changes nothing, or fails without a change, leaves nothing behind", arguments: [("true", 0), ("exit 4", 3)])
    func noChange(_ script: String, _ status: Int32) async throws {
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        let result = try await edit(script)
        #expect(result.status == status)
        #expect(status == 0 || result.errors.hasSuffix("exited with status 4\n"))
        #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == before)
        #expect(try copies() == [])
    }

    @Test("Signals have their default actions in the editor", arguments: ["PIPE", "INT", "TERM"])
    func signals(_ name: String) async throws {
        let result = try await edit("kill -\(name) $$")
        #expect(result.status == 3)
        #expect(result.errors.contains("prefs: the editor (sh \(folder.path("editor"))) "))
    }

    @Test("Merging keeps the exact values of unedited array elements, although the copy is rounded")
    func rounding() throws {
        let (exact, rounded) = (
            PropertyListValue.date(Date(timeIntervalSinceReferenceDate: 0.25)),
            PropertyListValue.date(Date(timeIntervalSinceReferenceDate: 0))
        )
        let merge = Merge(original: ["k": [exact, 1]], copied: ["k": [rounded, 1]], edited: ["k": [rounded, 2, 3]])
        #expect(merge.editedKeys == ["k"])
        #expect(try merge.value(of: "k", present: [exact, 1]) == [exact, 2, 3])
        #expect(throws: Merge.Conflict(path: "k")) { try merge.value(of: "k", present: [exact, 1, 4]) }
        #expect(try merge.value(of: "k", present: [rounded, 2, 3]) == [rounded, 2, 3])
        let shortened = Merge(original: ["k": [1, 2, exact]], copied: ["k": [1, 2, rounded]], edited: ["k": [0, 1, rounded, 4, 5]])
        #expect(try shortened.value(of: "k", present: [1, 2, exact]) == [0, 1, exact, 4, 5])
    }
}
