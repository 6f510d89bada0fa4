/// An option that a command knows.
struct Option: Equatable {
    /// Its name, without the dashes.
    let name: String
    /// What stands for its value in the usage, for an option that has one.
    var value: String?

    /// The option as the usage shows it.
    var usage: String {
        "--\(name)\(value.map { " \($0)" } ?? "")"
    }
}

/// What a command line says.
struct Arguments: Equatable {
    /// The arguments that are no options, in order.
    var operands: [String] = []
    /// The options by name; those without a value have an empty one.
    var options: [String: String] = [:]

    /// Whether an option was given.
    func has(_ name: String) -> Bool {
        options[name] != nil
    }
}

/// Tells options from operands; options may stand anywhere before `--`.
///
/// A negative number is an operand, and so is a lone dash. An option's value follows it or stands behind a `=`.
struct ArgumentParser {
    /// A command line that cannot be understood.
    struct Mistake: Error, Equatable {
        let reason: String
    }

    private let options: [Option]

    /// Knows some options; `--help` and `-h` are always known.
    init(options: [Option]) {
        self.options = options + [Option(name: "help")]
    }

    /// Takes a command line apart.
    func parse(_ arguments: [String]) throws(Mistake) -> Arguments {
        var parsed = Arguments()
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                parsed.operands += rest
                break
            } else if isOperand(argument) {
                parsed.operands.append(argument)
            } else {
                let (name, value) = try option(argument, &rest)
                guard parsed.options.updateValue(value, forKey: name) == nil else { throw Mistake(reason: "--\(name) is given twice") }
            }
        }
        return parsed
    }

    private func isOperand(_ argument: String) -> Bool {
        !argument.hasPrefix("-") || argument == "-" || Double(argument) != nil
    }

    private func option(_ argument: String, _ rest: inout ArraySlice<String>) throws(Mistake) -> (name: String, value: String) {
        let parts = argument == "-h" ? ["--help"] : argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard let option = options.first(where: { "--\($0.name)" == parts[0] }) else {
            throw Mistake(reason: "unknown option: \(parts[0])")
        }
        let attached = parts.count > 1 ? String(parts[1]) : nil
        guard option.value != nil else {
            guard attached == nil else { throw Mistake(reason: "--\(option.name) has no value") }
            return (option.name, "")
        }
        guard let value = attached ?? rest.popFirst() else { throw Mistake(reason: "--\(option.name) needs a value") }
        return (option.name, value)
    }
}
