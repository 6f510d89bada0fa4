import Testing

@testable import prefs

@Suite("Arguments", .timeLimit(.minutes(10)))
struct ArgumentsTests {
    private func parse(_ arguments: [String]) throws(CommandError) -> Arguments {
        try Arguments(parsing: arguments, options: ["--json", "--count N"])
    }

    @Test(
        "Options can be before, between and after operands",
        arguments: [["--json", "--count", "3", "a", "b"], ["a", "--count=3", "b", "--json"], ["a", "b", "--json", "--count", "3"]])
    func order(_ arguments: [String]) throws {
        #expect(try parse(arguments) == Arguments(operands: ["a", "b"], options: ["json": "", "count": "3"]))
    }

    @Test("Two dashes end the options")
    func endOfOptions() throws {
        let arguments = try parse(["a", "--json", "--", "--count", "--"])
        #expect(arguments == Arguments(operands: ["a", "--count", "--"], options: ["json": ""]))
    }

    @Test("Negative numbers and a lone dash are operands", arguments: ["-5", "-0.5", "-.5e3", "-inf", "-"])
    func negativeNumbers(_ operand: String) throws {
        #expect(try parse([operand]) == Arguments(operands: [operand]))
    }

    @Test("An option's value can be empty, contain a = or begin with a dash", arguments: ["", "a=b", "-x"])
    func values(_ value: String) throws {
        #expect(try parse(["--count=\(value)"]).options == ["count": value])
    }

    @Test("There are two forms of help", arguments: ["--help", "-h"])
    func help(_ name: String) throws {
        #expect(try parse([name]).has("help"))
    }

    @Test(
        "An unknown option, a repeated one, and one with a missing or unexpected value is an error",
        arguments: [
            (["--jso"], "unknown option: --jso"), (["-j"], "unknown option: -j"), (["--unknown=3"], "unknown option: --unknown"),
            (["--json", "--json"], "--json is given twice"), (["--json=1"], "--json has no value"), (["--count"], "--count needs a value"),
        ])
    func errors(_ arguments: [String], _ reason: String) {
        #expect(throws: CommandError.usage(reason)) { try parse(arguments) }
    }
}
