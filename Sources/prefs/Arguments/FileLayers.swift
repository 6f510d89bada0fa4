import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// The files from which a program that opens a domain reads its values, in order of precedence.
struct FileLayers {
    /// A file and the name of its layer: `mandatory`, `stored` or `defaults`.
    typealias Layer = (origin: String, file: PropertyListFile)

    private let layers: [Layer]

    /// The layers of the operand FILE if an option asks for them, and otherwise nil.
    static func requested(by option: String, _ arguments: Arguments) throws(CommandError) -> FileLayers? {
        guard arguments.has(option) else { return nil }
        guard arguments.etcdOption == nil else { throw .usage("--\(option) needs a file: there are no layers in etcd") }
        return FileLayers(operand: arguments.operands[0])
    }

    /// The layers of the operand FILE: only the file itself if it is a path.
    init(operand: String) {
        let file = PropertyListFile(operand: operand)
        let stored: Layer = ("stored", file)
        guard !PropertyListFile.isPath(operand) else {
            layers = [stored]
            return
        }
        let (defaults, mandatory) = PropertyListFile.administratorsFiles(ofSuite: operand)
        layers = mandatory.map { ("mandatory", $0) } + [stored] + defaults.map { ("defaults", $0) }
    }

    /// The first layer with a value at a path, and the value.
    func first(_ path: EntryPath) throws -> (layer: Layer, value: PropertyListValue)? {
        for layer in layers {
            if let value = path.value(in: try layer.file.reporting(layer.file.load).values) { return (layer, value) }
        }
        return nil
    }

    /// Every entry with the first layer that has it, sorted by name.
    func all() throws -> [(name: String, layer: Layer, value: PropertyListValue)] {
        var found: [String: (layer: Layer, value: PropertyListValue)] = [:]
        for layer in layers {
            for (name, value) in try layer.file.reporting(layer.file.load).values where found[name] == nil { found[name] = (layer, value) }
        }
        return found.map { ($0.key, $0.value.layer, $0.value.value) }.sorted { $0.name.precedes($1.name) }
    }
}
