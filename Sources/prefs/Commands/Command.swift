/// One of the tool's commands, ready to run.
protocol Command: Sendable {
    static var name: String { get }
    /// The operands as the usage shows them.
    static var operands: String { get }
    /// How many operands there may be.
    static var operandCount: ClosedRange<Int> { get }
    static var options: [Option] { get }
    /// The command with its operands and options.
    static var usage: String { get }
    /// What the command does, in a line.
    static var summary: String { get }
    /// What else there is to know, in some lines.
    static var details: String { get }

    /// Takes arguments whose number and options are right.
    init(_ arguments: Arguments) throws(ArgumentParser.Mistake)

    /// Does what was asked for.
    func run(_ output: Output) async throws
}

extension Command {
    static var options: [Option] { [] }
    static var details: String { "" }

    static var usage: String {
        (["prefs", name, operands] + options.map { "[\($0.usage)]" }).filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Reads the command's arguments.
    static func parse(_ arguments: [String]) throws(Failure) -> any Command {
        do throws(ArgumentParser.Mistake) {
            let arguments = try ArgumentParser(options: options).parse(arguments)
            if arguments.has("help") { return HelpCommand(about: self) }
            try check(arguments.operands)
            return try Self(arguments)
        } catch {
            throw .usage(error.reason, self)
        }
    }

    private static func check(_ operands: [String]) throws(ArgumentParser.Mistake) {
        if operands.count < operandCount.lowerBound { throw ArgumentParser.Mistake(reason: "an operand is missing") }
        if operands.count > operandCount.upperBound {
            throw ArgumentParser.Mistake(reason: "one operand too many: \(operands[operandCount.upperBound])")
        }
        if operandCount.lowerBound > 0, operands[0].isEmpty { throw ArgumentParser.Mistake(reason: "the name of the file is empty") }
    }
}
