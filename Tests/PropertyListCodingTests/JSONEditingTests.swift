import Foundation
import PropertyListCoding
import TestSupport
import Testing

@Suite("Edits of the text of JSON", .timeLimit(.minutes(isLong ? 60 : 10)))
struct JSONEditingTests {
    /// An edit of a text.
    struct Edit: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before: String
        let edits: [String: PropertyListValue?]
        let after: String

        init(_ description: String, _ before: String, _ edits: [String: PropertyListValue?], _ after: String) {
            (testDescription, self.before, self.edits, self.after) = (description, before, edits, after)
        }
    }

    private func edited(_ document: Data, _ edits: [String: PropertyListValue?]) throws -> Data {
        guard case .dictionary(let entries) = try PropertyListValue.decode(document).value else { return Data() }
        return try PropertyListValue.encode(entries, with: edits, as: .json, editing: document)
    }

    @Test("Everything but the edited values keeps its text", arguments: values + removals + additions + containers)
    func text(edit: Edit) throws {
        #expect(try String(decoding: edited(Data(edit.before.utf8), edit.edits), as: UTF8.self) == edit.after)
    }

    @Test("It does with other line endings, too", arguments: values + removals + additions + containers, ["\r\n", "\r"])
    func lineEndings(edit: Edit, ending: String) throws {
        let before = edit.before.replacing("\n", with: ending)
        #expect(try String(decoding: edited(Data(before.utf8), edit.edits), as: UTF8.self) == edit.after.replacing("\n", with: ending))
    }

    private static let sample = """
        // The server.
        {
          /* where */ "host": "a", // its name
          "port":80 ,
          "tags": [ "x", "y" ], "real": 1.50e1,

          // limits
          "limits": {
            "time": 5 // seconds
          }
        } // end

        """

    private static func changed(_ replacements: (String, String)...) -> String {
        replacements.reduce(sample) { $0.replacing($1.0, with: $1.1) }
    }

    static let values = [
        Edit("nothing", sample, [:], sample),
        Edit("a string", sample, ["host": "é\n"], changed(("\"a\",", "\"é\\n\","))),
        Edit("a number", sample, ["port": 1.0], changed(("80", "1.0"))),
        Edit("a value inside", sample, ["limits": ["time": 6]], changed(("5 //", "6 //"))),
        Edit("an equal value", sample, ["port": 80, "real": 15.0], sample),
        Edit("an element", sample, ["tags": ["x", "z"]], changed(("\"y\"", "\"z\""))),
        Edit(
            "a leaf by a container", sample, ["port": ["a": [1, [:]]]], changed(("80", "{\n    \"a\":[\n      1,\n      {}\n    ]\n  }"))),
        Edit("a container by a leaf", sample, ["limits": true], changed(("{\n    \"time\": 5 // seconds\n  }", "true"))),
        Edit("on one line", #"{"a":1,"b":{"c":2}}"#, ["a": ["x": [1, "y"]], "b": ["c": 3]], #"{"a":{"x":[1,"y"]},"b":{"c":3}}"#),
        Edit("null", "{\n\t\"a\": null, // unset\n\t\"b\": null\n}", ["a": 1], "{\n\t\"a\": 1, // unset\n\t\"b\": null\n}"),
        Edit("a key with escapes", #"{"\u0061\/": 1}"#, ["a/": 2], #"{"\u0061\/": 2}"#),
    ]

    static let removals = [
        Edit("a line", "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}", ["b": nil], "{\n  \"a\": 1,\n  \"c\": 3\n}"),
        Edit("the first line", "{\n  \"a\": 1,\n  \"b\": 2\n}\n", ["a": nil], "{\n  \"b\": 2\n}\n"),
        Edit("the last line", "{\n  \"a\": 1,\n  \"b\": 2\n}", ["b": nil], "{\n  \"a\": 1\n}"),
        Edit("the last lines", "{\n  \"a\": 1, // a\n  \"b\": 2,\n  \"c\": 2\n}", ["b": nil, "c": nil], "{\n  \"a\": 1 // a\n}"),
        Edit("the only line", "{\n  \"a\": 1\n}", ["a": nil], "{\n}"),
        Edit("before a comma at the end", "{\n  \"a\": 1,\n  \"b\": 2,\n}", ["b": nil], "{\n  \"a\": 1,\n}"),
        Edit("with a comment", "{\n  // b\n  \"b\": 2, // c\n  \"d\": 3\n}", ["b": nil], "{\n  // b\n  // c\n  \"d\": 3\n}"),
        Edit("between groups", "{\n  \"a\": 1,\n\n  \"b\": 2,\n  \"c\": 3\n}", ["b": nil], "{\n  \"a\": 1,\n\n  \"c\": 3\n}"),
        Edit("several lines", "{\n  \"a\": {\n    \"x\": 1\n  },\n  \"b\": 2\n}", ["a": nil], "{\n  \"b\": 2\n}"),
        Edit("first on one line", "{ \"a\": 1, \"b\": 2 }", ["a": nil], "{ \"b\": 2 }"),
        Edit("last on one line", "{ \"a\": 1, \"b\": 2 }", ["b": nil], "{ \"a\": 1 }"),
        Edit("middle on one line", "{\"a\": 1, \"b\": 2, \"c\": 3}", ["b": nil], "{\"a\": 1, \"c\": 3}"),
        Edit("only one on one line", "{\"a\": 1}", ["a": nil], "{}"),
        Edit("commas first", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", ["c": nil], "{ \"a\": 1\n, \"b\": 2\n}"),
        Edit("commas first, the first", "{ \"a\": 1\n, \"b\": 2\n, \"c\": 3\n}", ["a": nil], "{ \"b\": 2\n, \"c\": 3\n}"),
        Edit("a comment before the comma", "{\"a\": 1 /* b */, \"c\": 2}", ["a": nil], "{/* b */ \"c\": 2}"),
        Edit("elements", "{\"a\": [1, 2, 3]}", ["a": [1]], "{\"a\": [1]}"),
        Edit("elements before a comma", "{\"a\": [1, 2, 3,]}", ["a": [1]], "{\"a\": [1,]}"),
        Edit("several", "{ \"a\": 1, \"b\": 2, \"c\": 3 }", ["a": nil, "c": nil, "b": nil], "{ }"),
        Edit("elements on lines", "{\"a\": [\n  1,\n  2,\n]}", ["a": [1]], "{\"a\": [\n  1,\n]}"),
        Edit("all elements", "{\"a\": [1, 2]}", ["a": []], "{\"a\": []}"),
        Edit("after a comment, before a bracket on the line", "{ // a\n \"a\": 1 }", ["a": nil], "{ // a\n }"),
        Edit("the last ones after a comment", "{\"a\": 1, // a\n \"b\": 2,\n \"c\": 3}", ["b": nil, "c": nil], "{\"a\": 1 // a\n}"),
        Edit("after a comment, commas first", "{\"a\": 1 // a\n , \"b\": 2}", ["b": nil], "{\"a\": 1 // a\n }"),
        Edit("between comments, commas first", "{\"a\": 1 // a\n, \"b\": 2 /* b\n */}", ["b": nil], "{\"a\": 1 // a\n /* b\n */}"),
        Edit("after comments, commas first", "{\"a\": 1 // a\n, /* b\n */ \"b\": 2\n}", ["b": nil], "{\"a\": 1 // a\n /* b\n */\n}"),
        Edit("a bracket on the last line", "{ \"a\": 1,\n  \"b\": \"//\" }", ["b": nil], "{ \"a\": 1 }"),
        Edit("a null", "{\"a\": null}", ["a": nil], "{\"a\": null}"),
        Edit("a member inside", "{\"a\": {\"b\": 1, \"c\": 2}, \"d\": 1}", ["a": ["b": 1]], "{\"a\": {\"b\": 1}, \"d\": 1}"),
    ]

    static let additions = [
        Edit("a line", "{\n    \"z\": 1\n}\n", ["b": 2, "a": [1]], "{\n    \"z\": 1,\n    \"a\": [\n        1\n    ],\n    \"b\": 2\n}\n"),
        Edit("tabs", "{\n\t\"z\" : 1\n}", ["a": 2], "{\n\t\"z\" : 1,\n\t\"a\" : 2\n}"),
        Edit("after a comment", "{\n  \"z\": 1 // one\n  // end\n}", ["a": 2], "{\n  \"z\": 1, // one\n  // end\n  \"a\": 2\n}"),
        Edit("a comma at the end", "{\n  \"z\": 1,\n}", ["a": 2, "b": 3], "{\n  \"z\": 1,\n  \"a\": 2,\n  \"b\": 3,\n}"),
        Edit("on one line", "{ \"z\": 1 }", ["a": [1, ["b": 2]]], "{ \"z\": 1, \"a\": [1, {\"b\": 2}] }"),
        Edit("compact", "{\"z\":1,\"y\":2}", ["a": [1, ["b": 2]]], "{\"z\":1,\"y\":2,\"a\":[1,{\"b\":2}]}"),
        Edit("a bracket on the last line", "{ \"z\": 1,\n  \"y\": 2 }", ["a": 3], "{ \"z\": 1,\n  \"y\": 2,\n  \"a\": 3 }"),
        Edit("before a comment on the line", "{\"a\": [1 // one\n]}", ["a": [1, 2]], "{\"a\": [1, 2 // one\n]}"),
        Edit("elements", "{\"a\": [1,2]}", ["a": [1, 2, 3, "x"]], "{\"a\": [1,2,3,\"x\"]}"),
        Edit(
            "elements on lines", "{\n  \"a\": [\n    1\n  ]\n}", ["a": [1, ["b": 2]]],
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": 2\n    }\n  ]\n}"),
        Edit(
            "inside", "{\n  \"a\": {\"b\": 1},\n  \"c\": {\n    \"d\": 1\n  }\n}", ["a": ["b": 1, "x": 2], "c": ["d": 1, "x": 2]],
            "{\n  \"a\": {\"b\": 1, \"x\": 2},\n  \"c\": {\n    \"d\": 1,\n    \"x\": 2\n  }\n}"),
        Edit(
            "in place of all", "{\n  \"z\": 1, // one\n  \"y\": 2\n}", ["z": nil, "y": nil, "a": 3, "b": 4],
            "{\n  \"a\": 3, // one\n  \"b\": 4\n}"),
        Edit("in place of the last after a comment", "{\"a\": 1, // a\n \"b\": 2}", ["b": nil, "c": 3], "{\"a\": 1, // a\n \"c\": 3}"),
        Edit("in place of the only one", "{ \"z\": 1 }", ["z": nil, "a": 2], "{ \"a\": 2 }"),
        Edit("in place of the last", "{\n  \"y\": 1,\n  \"z\": 1\n}", ["z": nil, "a": 2], "{\n  \"y\": 1,\n  \"a\": 2\n}"),
        Edit("in place of several", "{\"x\": 0, \"y\": 1, \"z\": 1}", ["y": nil, "z": nil, "a": 2], "{\"x\": 0, \"a\": 2}"),
        Edit("in place of the last on one line", "{ \"y\": 1, \"z\": 1 }", ["z": nil, "a": 2], "{ \"y\": 1, \"a\": 2 }"),
    ]

    static let containers = [
        Edit("an empty file", "{}\n", ["a": 1, "b": ["c": 2]], "{\n  \"a\": 1,\n  \"b\": {\n    \"c\": 2\n  }\n}\n"),
        Edit("an empty object with a line", "{\n}", ["a": 1], "{\n  \"a\": 1\n}"),
        Edit("an empty object with a comment", "// a\n{\n  // none\n}", ["a": 1], "// a\n{\n  // none\n  \"a\": 1\n}"),
        Edit(
            "an empty object on a line", "{\n    \"a\": {},\n    \"b\": []\n}", ["a": ["x": 1], "b": [1]],
            "{\n    \"a\": {\n        \"x\": 1\n    },\n    \"b\": [\n        1\n    ]\n}"),
        Edit(
            "an empty object on the line of its parent", "{\"a\": { }, \"b\":[/**/]}", ["a": ["x": 1], "b": [1]],
            "{\"a\": {\"x\": 1}, \"b\":[/**/1]}"),
        Edit("depth", "{\"a\":[[{\"b\":[1]}]]}", ["a": [[["b": [2], "c": 3]]]], "{\"a\":[[{\"b\":[2],\"c\":3}]]}"),
    ]

    @Test("A file that is not UTF-8 is written anew, and one with a byte order mark keeps it")
    func encodings() throws {
        let text = "{\"a\": 1} // é"
        #expect(try edited(#require(text.data(using: .utf16)), ["a": 2]) == Data("{\n  \"a\": 2\n}\n".utf8))
        #expect(try edited(Data("\u{FEFF}\(text)".utf8), ["a": 2]) == Data("\u{FEFF}{\"a\": 2} // é".utf8))
    }

    @Test("A value that JSON has no form for is an error")
    func unencodable() {
        #expect(throws: PropertyListError.self) { try edited(Data("{}".utf8), ["a": [.date(.distantPast)]]) }
    }

    @Test("White space that is repeated is limited")
    func growth() throws {
        let margin = String(repeating: " ", count: 100_000)
        let document = Data("{\n\(margin)\"z\": 1\n}".utf8)
        let edits = Dictionary(uniqueKeysWithValues: (0..<200).map { ("\($0)", PropertyListValue?.some([1, [2]])) })
        #expect(try edited(document, edits).count < 1_500_000)
    }

    // MARK: Random

    private static let count = isLong ? 100_000 : isOptimized ? 4_000 : 1_500

    @Test("Leaves set at random are read back, and every byte outside of their values is as it was")
    func leaves() throws {
        var generator = SeededGenerator(seed: firstSeed)
        for number in 0..<Self.count {
            let document = HandwrittenJSON.random(isDense: number.isMultiple(of: 2), using: &generator)
            var (expected, edits) = (document, [String: PropertyListValue?]())
            for index in document.members.indices where Bool.random(using: &generator) {
                edits.updateValue(.string("\(index)"), forKey: document.members[index].key)
                expected.members[index].valueText = "\"\(index)\""
            }
            let text = try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values))
            #expect(text == expected.data, "seed \(firstSeed), document \(number)")
            #expect(try PropertyListValue.decode(text).value == .dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value }))
        }
    }

    @Test("Values edited, removed and added at random at any depth are read back, and unchanged members keep their text and order")
    func anything() throws {
        var generator = SeededGenerator(seed: firstSeed)
        for number in 0..<Self.count {
            let document = HandwrittenJSON.random(isDense: number.isMultiple(of: 2), using: &generator)
            let edits = Self.edits(of: document, using: &generator)
            let expected = PropertyListValue.dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value })
            let data = try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values))
            let message: Comment = "seed \(firstSeed), document \(number): \(String(decoding: document.data, as: UTF8.self)) \(edits)"
            #expect((try? PropertyListValue.decode(data).value) == expected, message)
            var rest = Substring.UnicodeScalarView(String(decoding: data, as: UTF8.self).unicodeScalars)
            for member in document.members {
                // Comments around removed members remain as well.
                let comments = member.before.split(separator: "/*").dropFirst().map { "/*" + $0.prefix { $0 != "/" } + "/" }
                for text in comments + (edits[member.key] == nil ? [member.text] : []) {
                    let range = try #require(rest.firstRange(of: text.unicodeScalars), message)
                    rest = rest[range.upperBound...]
                }
            }
        }
    }

    @Test("Python reads edited text as the edited values", .enabled(if: ProgramOracleTests.hasPython))
    func python() throws {
        var generator = SeededGenerator(seed: firstSeed)
        var (files, expected) = ([Data](), [PropertyListValue]())
        for _ in 0..<300 {
            let document = HandwrittenJSON.random(isStrict: true, using: &generator)
            let edits = Self.edits(of: document, using: &generator)
            files.append(try #require(try PropertyListValue.text(of: document.data, after: edits, of: document.values)))
            expected.append(.dictionary(edits.reduce(into: document.values) { $0[$1.key] = $1.value }))
        }
        let answers = try Oracle.json(files)
        try #require(answers.count == files.count)
        for (index, value) in expected.enumerated() where answers[index] != .read(value.exactText) {
            Issue.record("seed \(firstSeed), document \(index): \(String(decoding: files[index], as: UTF8.self))")
        }
    }

    private static func edits(of document: HandwrittenJSON, using generator: inout SeededGenerator) -> [String: PropertyListValue?] {
        var edits: [String: PropertyListValue?] = [:]
        for (key, value) in document.values.sorted(by: { $0.key < $1.key }) where Bool.random(using: &generator) {
            edits.updateValue(value.edited(using: &generator)?.asJSONValue, forKey: key)
        }
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            edits["new \(generator.next() % 100)"] = PropertyListValue.random(depth: 2, using: &generator).asJSONValue
        }
        return edits
    }
}
