/// An option that a command accepts.
struct Option: Equatable {
    /// The name, without the dashes.
    let name: String
    /// The placeholder for the option's value in the usage, or nil if the option has no value.
    var value: String?

    /// The option as the usage shows it.
    var usage: String {
        "--\(name)\(value.map { " \($0)" } ?? "")"
    }
}

/// An error in the text of a command line, or of a value on it.
struct ParseError: Error, Equatable {
    let reason: String
}

/// The operands and options of a command line.
struct Arguments: Equatable {
    /// The arguments that are not options, in order.
    var operands: [String] = []
    /// The values of the options by name; empty for an option without a value.
    var options: [String: String] = [:]

    /// Returns whether an option was given.
    func has(_ name: String) -> Bool {
        options[name] != nil
    }
}

extension Arguments {
    /// Parses a command line; `--help` and `-h` are always accepted.
    ///
    /// Options may appear anywhere before `--`. The value of an option is the next argument, or follows a `=`. A negative number is an
    /// operand, and so is a lone dash.
    init(parsing arguments: [String], options: [Option]) throws(ParseError) {
        let options = options + [Option(name: "help")]
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                operands += rest
                break
            } else if Self.isOperand(argument) {
                operands.append(argument)
            } else {
                let (name, value) = try Self.option(argument, &rest, of: options)
                guard self.options.updateValue(value, forKey: name) == nil else { throw ParseError(reason: "--\(name) is given twice") }
            }
        }
    }

    private static func isOperand(_ argument: String) -> Bool {
        !argument.hasPrefix("-") || argument == "-" || Double(argument) != nil
    }

    private static func option(
        _ argument: String, _ rest: inout ArraySlice<String>, of options: [Option]
    ) throws(ParseError) -> (name: String, value: String) {
        let parts = argument == "-h" ? ["--help"] : argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let option = options.first(where: { "--\($0.name)" == parts[0] }) else {
            throw ParseError(reason: "unknown option: \(parts[0])")
        }
        let attached = parts.count > 1 ? String(parts[1]) : nil
        guard option.value != nil else {
            guard attached == nil else { throw ParseError(reason: "--\(option.name) has no value") }
            return (option.name, "")
        }
        guard let value = attached ?? rest.popFirst() else { throw ParseError(reason: "--\(option.name) needs a value") }
        return (option.name, value)
    }
}
