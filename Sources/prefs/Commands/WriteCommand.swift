import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs write`: sets keys, or adds to an array or dictionary.
struct WriteCommand: Command {
    static let name = "write"
    static let operands = "FILE KEY VALUE [KEY VALUE ...]"
    static let operandCount = 2...Int.max
    static let options =
        ValueSyntax.allCases.map { "--\($0.rawValue)" } + ["--type \(typeNames.joined(separator: "|"))"]
        + Container.allCases.map { "--\($0.rawValue)" } + ["--raw", EntryPath.literalOption]
    static let takesEtcd = true
    static let usage = """
        prefs write FILE KEY VALUE [KEY VALUE ...] [--array | --array-add | --dict | --dict-add] \
        [\(ValueSyntax.allCases.map { "--\($0.rawValue)" }.joined(separator: " | ")) | --type TYPE] [--raw] [--literal]
        """
    static let summary = "Set the values of keys, in one transaction; they are on disk when the command ends."
    static let details = """
        A value is a string unless an option, for all values, says otherwise:
          --int        a whole number from -9223372036854775808 to 18446744073709551615
          --real       a number, or nan, inf, -inf
          --bool       true, false, yes, no, 1 or 0
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
        or, with --data, as the data itself. This copies every value exactly, except for line breaks at the end of a string:
          prefs write FILE KEY --type "$(prefs type OTHER KEY)" -- "$(prefs read OTHER KEY)"
        """

    /// The names of the types that `prefs type` prints, which `--type` takes.
    private static let typeNames = ["string", "integer", "real", "boolean", "date", "data", "array", "dictionary", "uid"]
    /// The syntax in which `prefs read` prints a value of a type; the others are typed JSON.
    private static let syntaxes: [String: ValueSyntax] = [
        "string": .string, "integer": .int, "real": .real, "boolean": .bool, "date": .date, "data": .data,
    ]

    /// The options for several values of one key.
    private enum Container: String, CaseIterable {
        case array
        case arrayAdd = "array-add"
        case dict
        case dictAdd = "dict-add"
    }

    /// An edit of the value of one key.
    private enum Edit {
        case set(PropertyListValue)
        case append([PropertyListValue])
        case merge([String: PropertyListValue])
    }

    private let storage: EntryStorage
    private let edits: [(path: EntryPath, edit: Edit)]

    init(_ arguments: Arguments) throws(CommandError) {
        let containers = Container.allCases.filter { arguments.has($0.rawValue) }
        guard containers.count < 2 else { throw .usage("--\(containers[0].rawValue) and --\(containers[1].rawValue) exclude each other") }
        let parse = try Self.parser(arguments)
        var values = arguments.operands.dropFirst()
        guard values.count(where: { $0 == "-" }) < 2 else { throw .usage("standard input can be only one value") }
        storage = try EntryStorage(arguments)
        if let container = containers.first {
            values.removeFirst()
            edits = [(EntryPath(arguments, operand: 1), try Self.edit(container, values, parse))]
        } else {
            let isLiteral = arguments.has("literal")
            edits = try Self.pairs(values, parse).map { (EntryPath($0, isLiteral: isLiteral), .set($1)) }
        }
    }

    func run(_ output: Output) throws {
        try storage.edit { entries in
            for (path, edit) in edits {
                try path.update(&entries, of: storage.name) { try edited($0, edit, of: path) }
            }
        }
    }

    private func edited(_ value: PropertyListValue?, _ edit: Edit, of path: EntryPath) throws(CommandError) -> PropertyListValue {
        switch (edit, value) {
        case (.set(let new), _): return new
        case (.append(let new), nil): return .array(new)
        case (.append(let new), .array(let old)?): return .array(old + new)
        case (.merge(let new), nil): return .dictionary(new)
        case (.merge(let new), .dictionary(let old)?): return .dictionary(old.merging(new) { $1 })
        case (.append, let value?): throw .failed("\(storage.name): key \(path.text.quoted) is of type \(value.typeName), not an array")
        case (.merge, let value?): throw .failed("\(storage.name): key \(path.text.quoted) is of type \(value.typeName), not a dictionary")
        }
    }
}

// MARK: - Parsing the values

extension WriteCommand {
    private typealias Parser = (String) throws(CommandError) -> PropertyListValue

    private static func edit(_ container: Container, _ operands: ArraySlice<String>, _ parse: Parser) throws(CommandError) -> Edit {
        if operands.isEmpty, [.arrayAdd, .dictAdd].contains(container) { throw .usage("an operand is missing") }
        switch container {
        case .array: return .set(.array(try operands.map(parse)))
        case .arrayAdd: return .append(try operands.map(parse))
        case .dict: return .set(.dictionary(Dictionary(try pairs(operands, parse), uniquingKeysWith: { $1 })))
        case .dictAdd: return .merge(Dictionary(try pairs(operands, parse), uniquingKeysWith: { $1 }))
        }
    }

    private static func pairs(
        _ operands: ArraySlice<String>, _ parse: Parser
    ) throws(CommandError) -> [(String, PropertyListValue)] {
        guard let last = operands.last, operands.count % 2 == 1 else {
            var pairs: [(String, PropertyListValue)] = []
            for index in stride(from: operands.startIndex, to: operands.endIndex, by: 2) {
                pairs.append((operands[index], try parse(operands[index + 1])))
            }
            return pairs
        }
        throw .usage("a value is missing after \(last)")
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
