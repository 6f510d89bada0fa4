import EtcdStorage
import ObservableStorage

struct Command: Sendable {
    let name: String
    /// The operands as shown in the usage; completion knows FILE, KEY, COMMAND, and choices separated by `|`.
    let operands: String
    /// The numbers of operands that the command accepts.
    let operandCount: ClosedRange<Int>
    /// The options as shown in the usage: with a placeholder after the name, as in `--count N`, for an option that has a value.
    let options: [String]
    /// The index of the operand FILE, which `--etcd` may replace; nil for a command that works on files only.
    let etcdOperand: Int?
    let usage: String
    /// The function of the command, in one line.
    let summary: String
    let details: String
    private let body: @Sendable (Arguments, Output) throws -> Void

    /// - Parameters:
    ///   - operandCount: by default, operands in brackets are optional, and `...` repeats the last one.
    ///   - run: interprets arguments whose options and operand count are valid, and runs the command to completion.
    init(
        _ name: String, operands: String = "", operandCount: ClosedRange<Int>? = nil, options: [String] = [], etcdOperand: Int? = nil,
        usage: String? = nil, summary: String, details: String = "", run: @escaping @Sendable (Arguments, Output) throws -> Void
    ) {
        let words = operands.split(separator: " ")
        let required = words.prefix { !$0.hasPrefix("[") && $0 != "..." }.count
        self.operandCount = operandCount ?? required...(operands.contains("...") ? .max : words.count)
        let parts = ["prefs", name, operands] + options.map { "[\($0)]" }
        self.usage = usage ?? parts.filter { !$0.isEmpty }.joined(separator: " ")
        (self.name, self.operands, self.options, self.etcdOperand) = (name, operands, options, etcdOperand)
        (self.summary, self.details, body) = (summary, details, run)
    }

    var takesEtcd: Bool { etcdOperand != nil }

    /// The option with which the domains among the operands are those of state.
    static let stateOption = "--state"

    /// The options with that of state and those of etcd, if the command takes them.
    var allOptions: [String] {
        options + (takesFiles ? [Self.stateOption] : []) + (takesEtcd ? EtcdConfiguration.options : [])
    }

    private var takesFiles: Bool { operands.contains("FILE") }

    /// Interprets the arguments after the command's name, and runs the command to completion.
    func run(_ arguments: [String], _ output: Output) throws {
        do {
            var arguments = try Arguments(parsing: arguments, options: allOptions + (takesEtcd ? [] : EtcdConfiguration.options))
            if arguments.has("help") { return try output.write(line: explanation) }
            if let etcdOperand {
                arguments.insertEtcdOperand(at: etcdOperand)
            } else if let option = arguments.etcdOption {
                throw CommandError.usage("\(name) works on files only, and takes no --\(option)")
            }
            try check(arguments.operands)
            try locateState(&arguments)
            try body(arguments, output)
        } catch CommandError.usage(let reason, nil) {
            throw CommandError.usage(reason, synopsis: usage)
        }
    }

    /// The placeholder of an operand in the usage; those before `...` repeat.
    func placeholder(at index: Int) -> String {
        let words = operands.split(separator: " ").map { $0.filter { !"[]".contains($0) } }
        guard let end = words.firstIndex(of: "...") else { return index < words.count ? words[index] : "" }
        if index < end { return words[index] }
        // `KEY VALUE KEY VALUE ...` repeats the pair, `KEY ...` the word.
        let period = words[..<end].suffix(2) == ["KEY", "VALUE"] ? 2 : 1
        return words[end - period + (index - end) % period]
    }

    /// Replaces the domains among the operands by the paths of their files of state, if that option is given.
    func locateState(_ arguments: inout Arguments) throws {
        guard takesFiles, arguments.suiteKind == .state else { return }
        for (index, operand) in arguments.operands.enumerated() where placeholder(at: index) == "FILE" {
            if PropertyListFile.isPath(operand) { continue }
            let file = PropertyListFile(suiteName: operand, kind: .state)
            // The folder of state is not known, which is the error of reading the file.
            if file.url == nil { _ = try file.load() }
            arguments.operands[index] = file.name
        }
    }

    private func check(_ operands: [String]) throws(CommandError) {
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
