import FoundationSubset
import ObservableStorage

extension Command {
    static let read = Command(
        "read", operands: "FILE [KEY]",
        options: ["--json", "--raw", "--origin", "--environment PREFIX", EntryPath.literalOption], etcdOperand: 0,
        summary: "Print all entries as one JSON object, or the value of one key.",
        details: """
            A single string, number, boolean, date (ISO 8601) or data (base64) is printed bare. An array or dictionary is printed as JSON, in
            which other types are objects: {"$date":"…"}, {"$data":"…"}, {"$real":"nan"}, {"CF$UID":n}; a dictionary that looks like one of
            these is {"$dictionary":{…}}. prefs write --type accepts this format.
              --json   print plain JSON, also of a single value: dates and data are strings, and so are "nan", "inf" and "-inf"
              --raw    print a single string without a line break after it, or the bytes of data
              --origin print the value that a program gets for the key, after the layer that it comes from (mandatory, stored or defaults) and
                       the file, with tabs in between; the layers of a domain are the files of $XDG_CONFIG_DIRS, by default in /etc/xdg
              --environment PREFIX  with --origin, for a program that takes settings from variables which begin with this prefix: a variable
                       in the present environment precedes the stored value, as environment, PREFIX_KEY and its text

            All entries together are always printed as plain JSON.
            """
    ) { arguments, output in
        let (isJSON, isRaw) = (arguments.has("json"), arguments.has("raw"))
        let path = arguments.operands.count > 1 ? EntryPath(arguments, operand: 1) : nil
        let layers = try PropertyListFile.layers(requestedBy: "origin", arguments)
        guard !isRaw || !isJSON else { throw CommandError.usage("--json and --raw exclude each other") }
        guard !isRaw || path != nil else { throw CommandError.usage("--raw needs a key") }
        guard layers == nil || path != nil else { throw CommandError.usage("--origin needs a key; see prefs list --layers") }
        guard layers != nil || !arguments.has("environment") else { throw CommandError.usage("--environment needs --origin") }
        guard layers == nil || !isRaw else { throw CommandError.usage("--origin and --raw exclude each other") }
        let storage = try EntryStorage(arguments)
        if let layers, let path {
            for (origin, file) in layers {
                if origin == "stored", let prefix = arguments.options["environment"],
                    let (name, text) = OverrideSource.environment(prefix: prefix).text(ofKey: path.text)
                {
                    return try output.write(line: output.shown("environment\t\(name)\t\(try text.get())"))
                }
                guard let value = path.value(in: try file.reporting(file.load).values) else { continue }
                return try output.write(line: output.shown("\(origin)\t\(file.name)\t\(isJSON ? value.json : value.bareText)"))
            }
            throw CommandError.noSuchKey(path.text)
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

    static let type = Command(
        "type", operands: "FILE KEY", options: [EntryPath.literalOption], etcdOperand: 0,
        summary: "Print the type of a key's value.",
        details: "The type is string, integer, real, boolean, date, data, array, dictionary or uid."
    ) { arguments, output in
        let path = EntryPath(arguments, operand: 1)
        guard let value = path.value(in: try EntryStorage(arguments).existingEntries()) else { throw CommandError.noSuchKey(path.text) }
        try output.write(line: value.typeName)
    }

    static let list = Command(
        "list", operands: "FILE", options: ["--nested", "--layers"], etcdOperand: 0,
        summary: "Print the names of all keys with their types, sorted, with a tab in between.",
        details: """
              --nested   also print the values in arrays and dictionaries, by their paths
              --layers   print the keys of all layers of a domain, each with the layer that its value comes from (mandatory, stored or
                         defaults) and the file; see prefs help read

            A name with a space, a line break or another unusual character is printed as a JSON string.
            """
    ) { arguments, output in
        let storage = try EntryStorage(arguments)
        let layers = try PropertyListFile.layers(requestedBy: "layers", arguments)
        guard layers == nil || !arguments.has("nested") else { throw CommandError.usage("--layers and --nested exclude each other") }
        var lines: [(name: String, text: String)] = []
        func add(_ name: String, _ value: PropertyListValue, _ layer: String = "") {
            lines.append((name, "\(output.key(name.displayName))\t\(value.typeName)\(layer)\n"))
        }
        if let layers {
            for (origin, file) in layers {
                let found = Set(lines.map(\.name))
                for (name, value) in try file.reporting(file.load).values where !found.contains(name) {
                    add(name, value, "\t\(origin)\t\(output.shown(file.name))")
                }
            }
            lines.sort { $0.name.precedes($1.name) }
        } else if arguments.has("nested") {
            try storage.existingEntries().forEachNested { path, _, value in add(path, value) }
        } else {
            for (name, value) in try storage.existingEntries().sortedEntries { add(name, value) }
        }
        try output.write(Array(lines.map(\.text).joined().utf8))
    }

    static let domains = Command(
        "domains", options: [stateOption], summary: "Print the names of all domains that have a file, sorted."
    ) { arguments, output in
        for domain in try PropertyListFile.domains(arguments.suiteKind) { try output.write(line: output.shown(domain)) }
    }
}
