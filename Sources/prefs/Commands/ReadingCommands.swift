import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// `prefs read`: prints all entries, or one value.
struct ReadCommand: Command {
    static let name = "read"
    static let operands = "FILE [KEY]"
    static let options = ["--json", "--raw", "--origin", EntryPath.literalOption]
    static let takesEtcd = true
    static let summary = "Print all entries as one JSON object, or the value of one key."
    static let details = """
        A single string, number, boolean, date (ISO 8601) or data (base64) is printed bare. An array or dictionary is printed as JSON, in
        which other types are objects: {"$date":"…"}, {"$data":"…"}, {"$real":"nan"}, {"CF$UID":n}; a dictionary that looks like one of
        these is {"$dictionary":{…}}. prefs write --type accepts this format.
          --json   print plain JSON, also of a single value: dates and data are strings, and so are "nan", "inf" and "-inf"
          --raw    print a single string without a line break after it, or the bytes of data
          --origin print the value that a program gets for the key, after the layer that it comes from (mandatory, stored or defaults) and
                   the file, with tabs in between; the layers of a domain are the files of $XDG_CONFIG_DIRS, by default in /etc/xdg

        All entries together are always printed as plain JSON.
        """

    private let storage: EntryStorage
    private let path: EntryPath?
    private let isJSON: Bool
    private let isRaw: Bool
    private let layers: FileLayers?

    init(_ arguments: Arguments) throws(CommandError) {
        layers = try FileLayers.requested(by: "origin", arguments)
        storage = try EntryStorage(arguments)
        path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
        isJSON = arguments.has("json")
        isRaw = arguments.has("raw")
        guard !isRaw || !isJSON else { throw .usage("--json and --raw exclude each other") }
        guard !isRaw || path != nil else { throw .usage("--raw needs a key") }
        guard layers == nil || path != nil else { throw .usage("--origin needs a key; see prefs list --layers") }
        guard layers == nil || !isRaw else { throw .usage("--origin and --raw exclude each other") }
    }

    func run(_ output: Output) throws {
        if let layers, let path {
            guard let (layer, value) = try layers.first(path) else { throw CommandError.noSuchKey(path.text) }
            return try output.write(line: output.shown("\(layer.origin)\t\(layer.file.name)\t\(isJSON ? value.json : value.bareText)"))
        }
        let entries = try storage.existingEntries()
        guard let path else { return try output.write(entries.json(key: output.key)) }
        guard let value = path.value(in: entries) else { throw CommandError.noSuchKey(path.text) }
        switch value {
        case .data(let data) where isRaw: try output.write(data)
        case _ where isRaw: try output.write(Array(value.bareText.utf8))
        default: try output.write(line: isJSON ? value.json : output.shown(value.bareText))
        }
    }
}

/// `prefs type`: prints the type of a value.
struct TypeCommand: Command {
    static let name = "type"
    static let operands = "FILE KEY"
    static let options = [EntryPath.literalOption]
    static let takesEtcd = true
    static let summary = "Print the type of a key's value."
    static let details = "The type is string, integer, real, boolean, date, data, array, dictionary or uid."

    private let storage: EntryStorage
    private let path: EntryPath

    init(_ arguments: Arguments) throws(CommandError) {
        storage = try EntryStorage(arguments)
        path = EntryPath(arguments, operand: 1)
    }

    func run(_ output: Output) throws {
        guard let value = path.value(in: try storage.existingEntries()) else { throw CommandError.noSuchKey(path.text) }
        try output.write(line: value.typeName)
    }
}

/// `prefs list`: prints the names of the entries with their types.
struct ListCommand: Command {
    static let name = "list"
    static let operands = "FILE"
    static let options = ["--nested", "--layers"]
    static let takesEtcd = true
    static let summary = "Print the names of all keys with their types, sorted, with a tab in between."
    static let details = """
          --nested   also print the values in arrays and dictionaries, by their paths
          --layers   print the keys of all layers of a domain, each with the layer that its value comes from (mandatory, stored or
                     defaults) and the file; see prefs help read

        A name with a space, a line break or another unusual character is printed as a JSON string.
        """

    private let storage: EntryStorage
    private let isNested: Bool
    private let layers: FileLayers?

    init(_ arguments: Arguments) throws(CommandError) {
        storage = try EntryStorage(arguments)
        isNested = arguments.has("nested")
        layers = try FileLayers.requested(by: "layers", arguments)
        guard layers == nil || !isNested else { throw .usage("--layers and --nested exclude each other") }
    }

    func run(_ output: Output) throws {
        var text = ""
        if let layers {
            for (name, layer, value) in try layers.all() {
                text += "\(output.key(name.displayName))\t\(value.typeName)\t\(layer.origin)\t\(output.shown(layer.file.name))\n"
            }
            return try output.write(Array(text.utf8))
        }
        let add = { (name: String, value: PropertyListValue) in text += "\(output.key(name.displayName))\t\(value.typeName)\n" }
        let entries = try storage.existingEntries()
        if isNested {
            entries.forEachNested { path, _, value in add(path, value) }
        } else {
            for (name, value) in entries.sortedEntries { add(name, value) }
        }
        try output.write(Array(text.utf8))
    }
}

/// `prefs domains`: lists the domains.
struct DomainsCommand: Command {
    static let name = "domains"
    static let operands = ""
    static let summary = "Print the names of all domains that have a file, sorted."

    init(_ arguments: Arguments) {}

    func run(_ output: Output) throws {
        for domain in try PropertyListFile.domains() { try output.write(line: domain) }
    }
}
