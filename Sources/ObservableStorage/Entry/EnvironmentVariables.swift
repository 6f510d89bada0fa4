/// The variables of an environment, and the contents of the files that some of them name.
struct EnvironmentVariables: Sendable {
    /// The prefix of the variables whose names are derived from those of keys.
    let prefix: String
    let values: [String: String]
    // The contents of the files, or why there are none, by the variable that names the file.
    private var contents: [String: Result<String, CodingFailure>] = [:]

    private static let fileSuffix = "_FILE"

    init(prefix: String, values: [String: String]) {
        self.prefix = prefix.hasSuffix("_") ? String(prefix.dropLast()) : prefix
        self.values = values
    }

    /// Reads the files by a function that returns the content of the one at a path.
    mutating func readFiles(_ read: (String) -> Result<String, CodingFailure>) {
        for (name, path) in values where name.hasSuffix(Self.fileSuffix) { contents[name] = read(path) }
    }

    private func variable(of name: EntryName) -> String {
        if let own = name.overrideNames.first(where: { !$0.hasPrefix("-") }) { return own }
        let words = name.overrideWords.uppercased().split(separator: "-").joined(separator: "_")
        return prefix.isEmpty ? words : "\(prefix)_\(words)"
    }

    /// The text for a key; nil if there is none.
    func text(of name: EntryName) -> OverrideText? {
        let variable = variable(of: name)
        let file = variable + Self.fileSuffix
        switch (values[variable], contents[file]) {
        case (nil, nil): return nil
        case (let text?, nil): return OverrideText(.environment(variable), .success(text))
        case (nil, let content?): return OverrideText(.environment(file), content, isFileContent: true)
        case (_?, _?): return OverrideText(.environment(variable), .failure(CodingFailure("\(file) is set as well")))
        }
    }

    func names(of name: EntryName) -> [String] {
        let variable = variable(of: name)
        return [variable] + (contents[variable + Self.fileSuffix] == nil ? [] : [variable + Self.fileSuffix])
    }

    /// The names that begin with the prefix, sorted; none without a prefix.
    var names: [String] {
        prefix.isEmpty ? [] : values.keys.filter { $0.hasPrefix(prefix + "_") }.sorted()
    }
}
