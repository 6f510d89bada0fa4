import ObservableStorage

/// The operand KEY: the name of an entry, or a path into its value, such as `server.hosts.0`.
///
/// In a dictionary, the longest run of components that names an entry is used: an entry `a.b` takes precedence over the entry `b` of a
/// dictionary `a`. In an array, a component is an index. A text with an empty component, such as `a.`, or with more components than a
/// property list can have levels is a single name.
///
/// A path that begins with a dot, such as `.server.port`, leads to the values inside `server` only, as the names of keys in the library do:
/// each component is one name, in which `.` and `\` are written as `\.` and `\\`.
struct EntryPath: Equatable, Sendable {
    /// The option that makes the operand a single name.
    static let literalOption = "--literal"
    private static let maximumComponents = 512

    let text: String
    private let components: [String]
    /// Whether each component is one name.
    private let isExact: Bool

    init(_ text: String, isLiteral: Bool = false) {
        self.text = text
        if !isLiteral, let names = Self.exactNames(text) {
            (components, isExact) = (names, true)
            return
        }
        isExact = false
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        components = isLiteral || parts.contains("") || parts.count > Self.maximumComponents ? [text] : parts
    }

    /// The names in a path that begins with a dot; nil for another text.
    private static func exactNames(_ text: String) -> [String]? {
        guard text.utf8.first == UInt8(ascii: ".") else { return nil }
        var names: [String] = []
        var scalars = text.unicodeScalars.makeIterator()
        while var scalar = scalars.next() {
            if scalar == "." {
                names.append("")
                continue
            }
            if scalar == "\\" {
                guard let escaped = scalars.next(), escaped == "." || escaped == "\\" else { return nil }
                scalar = escaped
            }
            names[names.count - 1].unicodeScalars.append(scalar)
        }
        return names.count < 2 || names.contains("") || names.count > maximumComponents ? nil : names
    }

    init(_ arguments: Arguments, operand: Int) {
        self.init(arguments.operands[operand], isLiteral: arguments.has("literal"))
    }

    /// The operand that leads to a value in all of some property lists: the names on the way to it, joined by dots, or, where that leads
    /// elsewhere, each after a dot.
    static func text(of names: [String], in lists: [String: PropertyListValue]...) -> String {
        func leads(_ text: String) -> Bool {
            lists.allSatisfy { list in EntryPath(text).names { list[$0] } == names }
        }
        let joined = names.joined(separator: ".")
        if leads(joined) { return joined }
        let exact = EntryName.text(of: names)
        return leads(exact) ? exact : joined
    }

    /// The value that the path leads to; nil if there is none.
    func value(in entries: [String: PropertyListValue]) -> PropertyListValue? {
        PropertyListValue.dictionary(entries)[path: names { entries[$0] }]
    }

    /// Replaces the value that the path leads to; a nil value removes it. Missing dictionaries are created.
    ///
    /// - Parameters:
    ///   - file: the name of the file in errors.
    ///   - body: returns the new value for the current one, which is nil if there is none.
    /// - Throws: the error of the closure; `CommandError` if the path leads into a value that is neither a dictionary nor an array, or to
    ///   an element that an array does not have. Nothing is changed then.
    func update(
        _ entries: inout StorageEntries, of file: String, _ body: (PropertyListValue?) throws -> PropertyListValue?
    ) throws {
        let names = names { entries[$0] }
        var value = entries[names[0]]
        for (depth, name) in names.enumerated().dropFirst() {
            if let container = value { try check(container, contains: name, at: names.prefix(depth), file) }
            value = value?[path: [name]]
        }
        let newValue = try body(value)
        guard names.count > 1 else {
            entries[names[0]] = newValue
            return
        }
        var entry = entries[names[0]] ?? .dictionary([:])
        entry[path: Array(names.dropFirst())] = newValue
        entries[names[0]] = entry
    }

    /// The components of the path, joined to the names of the entries that exist.
    private func names(_ entry: (String) -> PropertyListValue?) -> [String] {
        if isExact { return entry(text) == nil ? components : [text] }
        var names: [String] = []
        var rest = components[...]
        var value: PropertyListValue?
        repeat {
            let count = names.isEmpty ? Self.longestName(in: rest) { entry($0) != nil } : Self.longestName(in: rest, of: value)
            let name = rest.prefix(count).joined(separator: ".")
            value = names.isEmpty ? entry(name) : value?[path: [name]]
            names.append(name)
            rest.removeFirst(count)
        } while value != nil && !rest.isEmpty
        return names + rest
    }

    /// The number of the first components that are, joined, the longest name in a value; 1 if there is none.
    private static func longestName(in components: ArraySlice<String>, of value: PropertyListValue?) -> Int {
        guard case .dictionary(let entries) = value else { return 1 }
        // In a deep list, trying all names that the components may be takes the cube of their number, and dictionaries are small.
        guard entries.count < components.count else { return longestName(in: components) { entries[$0] != nil } }
        let names = entries.keys.lazy.map { $0.split(separator: ".", omittingEmptySubsequences: false) }
        return names.filter { components.starts(with: $0) { $0 == $1 } }.map(\.count).max() ?? 1
    }

    private static func longestName(in components: ArraySlice<String>, exists: (String) -> Bool) -> Int {
        var (name, longest) = ("", 1)
        for (index, component) in components.enumerated() {
            name += index == 0 ? component : "." + component
            if exists(name) { longest = index + 1 }
        }
        return longest
    }

    private func check(_ container: PropertyListValue, contains name: String, at path: ArraySlice<String>, _ file: String) throws {
        let parent = path.joined(separator: ".").quoted
        switch container {
        case .dictionary: return
        case .array(let elements):
            if let index = Int(name), elements.indices.contains(index) { return }
            throw error(file, "\(parent) is an array of \(elements.count) elements, without an element \(name.quoted)")
        default:
            throw error(
                file, "\(parent) is of type \(container.typeName), not a dictionary (\(Self.literalOption) takes the key as one name)")
        }
    }

    private func error(_ file: String, _ reason: String) -> CommandError {
        .failed("\(file): key \(text.quoted) cannot be set: \(reason)")
    }
}
