import FoundationSubset
import ObservableStorage

extension Command {
    static let write = Command(
        "write", operands: "FILE KEY VALUE [KEY VALUE ...]", operandCount: 2...Int.max,
        options: ValueSyntax.allCases.map { "--\($0.rawValue)" } + ["--type \(typeNames.joined(separator: "|"))"]
            + containers.map { "--\($0)" } + ["--raw", EntryPath.literalOption],
        etcdOperand: 0,
        usage: """
            prefs write FILE KEY VALUE [KEY VALUE ...] [--array | --array-add | --dict | --dict-add] \
            [\(ValueSyntax.allCases.map { "--\($0.rawValue)" }.joined(separator: " | ")) | --type TYPE] [--raw] [--literal]
            """,
        summary: "Set the values of keys, in one transaction; they are on disk when the command ends.",
        details: """
            A value is a string unless an option, for all values, says otherwise:
              --int        a whole number from -9223372036854775808 to 18446744073709551615
              --real       a number, or nan, inf, -inf
              --bool       true, yes, on, 1, false, no, off or 0
              --date       ISO 8601 with Z or an offset, such as 2026-11-20T10:00:00.25Z or 2026-11-20T11:00:00+01:00
              --data       base64
              --json       any JSON without null: whole numbers are integers, numbers with a fraction or an exponent are reals
              --type TYPE  what prefs read prints for a value of this type, as printed by prefs type

            A key can be given several values, as one:
              --array      FILE KEY --array [VALUE ...]           an array of the values
              --array-add  FILE KEY --array-add VALUE ...         the array with these values added at its end
              --dict       FILE KEY --dict [NAME VALUE ...]       a dictionary of the values
              --dict-add   FILE KEY --dict-add NAME VALUE ...     the dictionary with these entries set

            One value may be -, for the text on standard input without its last line break. With --raw its bytes are used unchanged, as a string
            or, with --data, as the data itself. This copies every value exactly, except for the string - and line breaks at the end of a string:
              prefs write FILE KEY --type "$(prefs type OTHER KEY)" -- "$(prefs read OTHER KEY)"
            """
    ) { arguments, _ in
        let containers = containers.filter(arguments.has)
        guard containers.count < 2 else { throw CommandError.usage("--\(containers[0]) and --\(containers[1]) exclude each other") }
        let parse = try parser(arguments)
        let values = arguments.operands.dropFirst()
        guard values.count(where: { $0 == "-" }) < 2 else { throw CommandError.usage("standard input can be only one value") }
        let storage = try EntryStorage(arguments)
        let isAdded = containers.first?.hasSuffix("-add") == true
        let edits: [(path: EntryPath, value: PropertyListValue)]
        if let container = containers.first {
            edits = [(EntryPath(arguments, operand: 1), try value(of: values.dropFirst(), in: container, parse))]
        } else {
            edits = try pairs(values, parse).map { (EntryPath($0, isLiteral: arguments.has("literal")), $1) }
        }
        try storage.edit { entries in
            for (path, value) in edits {
                try path.update(&entries, of: storage.name) { try isAdded ? $0.adding(value, to: path, of: storage.name) : value }
            }
        }
    }

    /// The options for several values of one key.
    private static let containers = ["array", "array-add", "dict", "dict-add"]
    /// The names of the types that `prefs type` prints, which `--type` takes.
    private static let typeNames = ["string", "integer", "real", "boolean", "date", "data", "array", "dictionary", "uid"]
    /// The syntax in which `prefs read` prints a value of a type; the others are typed JSON.
    private static let syntaxes: [String: ValueSyntax] = [
        "string": .string, "integer": .int, "real": .real, "boolean": .bool, "date": .date, "data": .data,
    ]
}

extension PropertyListValue? {
    /// The array or dictionary with the elements or entries of another one.
    fileprivate func adding(_ new: PropertyListValue, to path: EntryPath, of file: String) throws(CommandError) -> PropertyListValue {
        switch (self, new) {
        case (nil, _): return new
        case (.array(let old)?, .array(let new)): return .array(old + new)
        case (.dictionary(let old)?, .dictionary(let new)): return .dictionary(old.merging(new) { $1 })
        case (let old?, _):
            let expected = new.typeName == "array" ? "an array" : "a dictionary"
            throw .failed("\(file): key \(path.text.quoted) is of type \(old.typeName), not \(expected)")
        }
    }
}

// MARK: - Parsing the values

extension Command {
    private typealias Parser = (String) throws(CommandError) -> PropertyListValue

    private static func value(
        of operands: ArraySlice<String>, in container: String, _ parse: Parser
    ) throws(CommandError) -> PropertyListValue {
        if operands.isEmpty, container.hasSuffix("-add") { throw .usage("an operand is missing") }
        guard container.hasPrefix("dict") else { return .array(try operands.map(parse)) }
        return .dictionary(Dictionary(try pairs(operands, parse), uniquingKeysWith: { $1 }))
    }

    private static func pairs(
        _ operands: ArraySlice<String>, _ parse: Parser
    ) throws(CommandError) -> [(String, PropertyListValue)] {
        if let last = operands.last, operands.count % 2 == 1 { throw .usage("a value is missing after \(last)") }
        return try stride(from: operands.startIndex, to: operands.endIndex, by: 2).map { index throws(CommandError) in
            (operands[index], try parse(operands[index + 1]))
        }
    }

    /// Returns the function that parses a value as the options say.
    private static func parser(_ arguments: Arguments) throws(CommandError) -> Parser {
        let syntaxes = ValueSyntax.allCases.filter { arguments.has($0.rawValue) }
        let type = arguments.options["type"]
        let names = syntaxes.map(\.rawValue) + (type == nil ? [] : ["type"])
        guard names.count < 2 else { throw .usage("a value has one type: --\(names[0]) or --\(names[1])") }
        if let type, !typeNames.contains(type) { throw .usage("unknown type: \(type)") }
        let syntax = if let type { Self.syntaxes[type] } else { syntaxes.first ?? .string }
        let isRaw = arguments.has("raw")
        guard !isRaw || arguments.operands.dropFirst(2).contains("-") else { throw .usage("--raw needs the value - (standard input)") }
        return { (operand: String) throws(CommandError) -> PropertyListValue in
            let bytes = operand == "-" ? try standardInput(isRaw: isRaw) : nil
            guard !isRaw || syntax == .string || syntax == .data else { throw .usage("--raw needs a string or --data") }
            if let bytes, isRaw, syntax == .data { return .data(bytes) }
            let text = if let bytes { try Self.text(of: bytes) } else { operand }
            do throws(PropertyListError) {
                if let syntax { return try syntax.value(text) }
                let value = try JSONReader.value(of: text, isTyped: true)
                if value.typeName == type { return value }
                throw PropertyListError(offset: nil, reason: "the value is of type \(value.typeName), not \(type ?? "")")
            } catch {
                throw .usage(error.description)
            }
        }
    }

    private static func standardInput(isRaw: Bool) throws(CommandError) -> Data {
        let bytes = try readStandardInput()
        return !isRaw && bytes.last == UInt8(ascii: "\n") ? bytes.dropLast() : bytes
    }

    private static func text(of bytes: Data) throws(CommandError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw .failed("standard input: it is not UTF-8 (--raw --data takes any bytes)")
        }
        return text
    }
}
