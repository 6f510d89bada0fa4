import EtcdStorage

/// One of the tool's commands, with its parsed arguments.
protocol Command: Sendable {
    static var name: String { get }
    /// The operands as shown in the usage; completion knows FILE, KEY, COMMAND, and choices separated by `|`.
    static var operands: String { get }
    /// The numbers of operands that the command accepts: by default, those in brackets are optional, and `...` repeats the last one.
    static var operandCount: ClosedRange<Int> { get }
    /// The options as shown in the usage: with a placeholder after the name, as in `--count N`, for an option that has a value.
    static var options: [String] { get }
    /// Whether `--etcd` may replace an operand.
    static var takesEtcd: Bool { get }
    /// The index of that operand, FILE.
    static var etcdOperand: Int { get }
    /// The command with its operands and options.
    static var usage: String { get }
    /// The function of the command, in one line.
    static var summary: String { get }
    /// Further explanation, in any number of lines.
    static var details: String { get }

    /// Interprets arguments whose options and operand count are valid.
    init(_ arguments: Arguments) throws(CommandError)

    /// Runs the command to completion.
    func run(_ output: Output) throws
}

extension Command {
    static var operandCount: ClosedRange<Int> {
        let words = operands.split(separator: " ")
        return words.prefix { !$0.hasPrefix("[") && $0 != "..." }.count...(operands.contains("...") ? .max : words.count)
    }
    static var options: [String] { [] }
    static var takesEtcd: Bool { false }
    static var etcdOperand: Int { 0 }
    static var details: String { "" }

    /// The options with those of etcd, if the command takes them.
    static var allOptions: [String] {
        takesEtcd ? options + EtcdConfiguration.options : options
    }

    static var usage: String {
        (["prefs", name, operands] + options.map { "[\($0)]" }).filter { !$0.isEmpty }.joined(separator: " ")
    }

    /// Parses the arguments after the command's name.
    static func parse(_ arguments: [String]) throws(CommandError) -> any Command {
        do throws(CommandError) {
            var arguments = try Arguments(parsing: arguments, options: options + EtcdConfiguration.options)
            if arguments.has("help") { return HelpCommand(text: HelpCommand.explanation(of: self)) }
            if !takesEtcd, let option = arguments.etcdOption {
                throw .usage("\(name) works on files only, and takes no --\(option)")
            }
            arguments.insertEtcdOperand(at: etcdOperand)
            try check(arguments.operands)
            return try Self(arguments)
        } catch .usage(let reason, _) {
            throw .usage(reason, synopsis: usage)
        }
    }

    /// The placeholder of an operand in the usage; those before `...` repeat.
    static func placeholder(at index: Int) -> String {
        let words = operands.split(separator: " ").map { $0.filter { !"[]".contains($0) } }
        guard let end = words.firstIndex(of: "...") else { return index < words.count ? words[index] : "" }
        if index < end { return words[index] }
        // `KEY VALUE KEY VALUE ...` repeats the pair, `KEY ...` the word.
        let period = words[..<end].suffix(2) == ["KEY", "VALUE"] ? 2 : 1
        return words[end - period + (index - end) % period]
    }

    private static func check(_ operands: [String]) throws(CommandError) {
        if operands.count < operandCount.lowerBound { throw .usage("an operand is missing") }
        if operands.count > operandCount.upperBound {
            throw .usage("one operand too many: \(operands[operandCount.upperBound])")
        }
        for (index, operand) in operands.enumerated() where operand.isEmpty {
            let placeholder = placeholder(at: index)
            if ["FILE", "SOURCE", "WORD"].contains(placeholder) { throw .usage("\(placeholder) is empty") }
        }
    }
}
