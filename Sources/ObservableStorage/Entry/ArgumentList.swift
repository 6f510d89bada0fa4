/// The options of a command line, by the words of their names, before it is known which of them belong to keys.
struct ArgumentList: Sendable {
    private enum Style {
        /// `-name`, as `UserDefaults` has it.
        case short
        /// `--name`.
        case long
        /// `--set name`.
        case set
    }

    private struct Option {
        /// The option as it is given: `--server-port`, `--set server/port`.
        let name: String
        let style: Style
        /// Its position, and the number of arguments that it consists of, without the value that follows.
        let index: Int
        let count: Int
        /// The text after a `=`.
        let attached: String?
        /// The next argument, if it may be a value.
        let next: String?

        /// The text for a key, and the number of arguments of the option; no text if it is missing.
        func value(isFlag: Bool) -> (text: String?, count: Int) {
            if let attached { return (attached, count) }
            if isFlag {
                // `-verbose YES` as `UserDefaults` has it, and `-v in.txt` as tools have it.
                guard style == .short, let next, TextForm.boolean(next) != nil else { return ("true", count) }
                return (next, count + 1)
            }
            return next.map { ($0, count + 1) } ?? (nil, count)
        }
    }

    private let arguments: [String]
    // By the words of their names; those of the same words in the order of the arguments.
    private var options: [String: [Option]] = [:]

    private static let negation = "no-"

    init(_ arguments: [String]) {
        self.arguments = arguments
        for (index, argument) in arguments.enumerated() {
            if argument == "--" { break }
            guard let (words, option) = Self.option(argument, at: index, in: arguments) else { continue }
            options[words, default: []].append(option)
        }
    }

    private static func option(_ argument: String, at index: Int, in arguments: [String]) -> (words: String, Option)? {
        if isValue(argument) { return nil }
        let next = index + 1 < arguments.count ? arguments[index + 1] : nil
        // The value of `--set` is not an option by itself.
        if argument == "--set" { return next.flatMap { setting($0, at: index, count: 2) } }
        if argument.hasPrefix("--set=") { return setting(String(argument.dropFirst(6)), at: index, count: 1) }
        let (name, attached) = argument.splitAtEqualSign
        return (
            name.overrideWords,
            Option(
                name: name, style: name.hasPrefix("--") ? .long : .short, index: index, count: 1, attached: attached,
                next: next.flatMap { isValue($0) ? $0 : nil })
        )
    }

    private static func setting(_ text: String, at index: Int, count: Int) -> (words: String, Option)? {
        let (name, value) = text.splitAtEqualSign
        let option = Option(name: "--set \(name)", style: .set, index: index, count: count, attached: value, next: nil)
        return (name.overrideWords, option)
    }

    private static func isValue(_ argument: String) -> Bool {
        !argument.hasPrefix("-") || argument == "-" || Double(argument) != nil
    }

    /// The options of a key, and those that negate it.
    private func options(of name: EntryName) -> [(option: Option, isNegated: Bool)] {
        let words = self.words(of: name)
        let own = (options[words] ?? []).map { (option: $0, isNegated: false) }
        guard name.isFlag, let negations = options[Self.negation + words] else { return own }
        return own + negations.filter { $0.style == .long && $0.attached == nil }.map { (option: $0, isNegated: true) }
    }

    private func words(of name: EntryName) -> String {
        name.overrideNames.first { $0.hasPrefix("-") }.map(\.overrideWords) ?? name.overrideWords
    }
}

extension ArgumentList {
    /// The text for a key; nil if there is none.
    func text(of name: EntryName) -> OverrideText? {
        guard let (option, isNegated) = options(of: name).max(by: { $0.option.index < $1.option.index }) else { return nil }
        let text = isNegated ? "false" : option.value(isFlag: name.isFlag).text
        return OverrideText(.argument(option.name), text.map { .success($0) } ?? .failure(CodingFailure("its value is missing")))
    }

    func names(of name: EntryName) -> [String] {
        let words = self.words(of: name)
        return ["--\(words)"] + (options(of: name).contains(where: \.isNegated) ? ["--\(Self.negation)\(words)"] : [])
    }

    /// The options as they are given whose names are not among those of keys.
    func unknownNames(besides known: Set<String>) -> [String] {
        options.filter { !known.contains("--\($0.key)") }.flatMap(\.value).sorted { $0.index < $1.index }.map(\.name)
    }

    /// The arguments that no key has taken.
    func remaining(besides keys: [EntryName]) -> [String] {
        var taken: Set<Int> = []
        for key in keys {
            for (option, isNegated) in options(of: key) {
                taken.formUnion(option.index..<option.index + (isNegated ? option.count : option.value(isFlag: key.isFlag).count))
            }
        }
        return arguments.enumerated().filter { !taken.contains($0.offset) }.map(\.element)
    }
}

extension String {
    /// The texts before and after the first `=`.
    fileprivate var splitAtEqualSign: (String, String?) {
        guard let sign = firstIndex(of: "=") else { return (self, nil) }
        return (String(self[..<sign]), String(self[index(after: sign)...]))
    }
}
