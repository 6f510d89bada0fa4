public import FoundationSubset

/// A source of texts that hide stored values in this process: the arguments of the command line, or the environment.
///
/// ```swift
/// let store = try ObservableStore(at: url, overrides: [.arguments(), .environment(prefix: "APP")])
/// ```
///
/// An override is never stored. Setting its key stores the value, which takes effect where nothing hides it; see
/// ``StoredValue/source``. Of several sources, the first that has a text for a key is used; mandatory values precede all of them.
///
/// The names are made of the words of a key's name in the store: `server/port`, `StorageKey("server", "port")` and `serverPort` are
/// `APP_SERVER_PORT` in the environment and `--server-port` on the command line, and `launchCount` is `APP_LAUNCH_COUNT` and
/// `--launch-count`; ``StorageKey/override(environment:argument:)`` gives a key others. A word begins at a capital letter and after
/// anything but letters and digits. Earlier names of a renamed key do not count. The key's type determines how the text is read; see
/// ``AnyStoredValue/set(text:)``. An empty text is an empty string or list, and an error for other types; no text is nil.
///
/// Overrides are read when the store is opened; later changes of the environment and of files have no effect.
public struct OverrideSource: Sendable {
    enum Content: Sendable {
        case arguments(ArgumentList)
        case environment(EnvironmentVariables)
        // By the words of the name.
        case texts([String: (name: String, text: String)])
    }

    var content: Content

    /// The arguments of the command line.
    ///
    /// - `--server-port 80` and `--server-port=80`; `-serverPort 80`, as `UserDefaults` has it; `--set server/port=80`. The next argument is
    ///   no value if it begins with a dash, unless it is a number or a dash alone.
    /// - For a key whose type is `Bool`, `--verbose` is true and `--no-verbose` false; `-verbose` is true, too, unless a Boolean follows, as
    ///   in `-verbose NO`.
    /// - Of several for one key, the last one counts. What follows `--` is not read.
    ///
    /// ``KeyedStore/remainingArguments`` has the arguments that no key has taken.
    public static func arguments(_ arguments: [String] = CommandLine.arguments) -> OverrideSource {
        OverrideSource(content: .arguments(ArgumentList(arguments)))
    }

    /// The variables of the environment that begin with a prefix and `_`.
    ///
    /// A variable `NAME_FILE` names a file that contains the value of `NAME`, as Docker and Kubernetes provide secrets: a regular file of
    /// at most 64 KiB in UTF-8, of which one line break at the end is removed.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the names, such as `APP`; an empty one for names without a prefix.
    ///   - variables: the values by name; by default those of the process.
    public static func environment(
        prefix: String, _ variables: [String: String] = ProcessInfo.processInfo.environment
    ) -> OverrideSource {
        OverrideSource(content: .environment(EnvironmentVariables(prefix: prefix, values: variables)))
    }

    /// Texts by the name of the key in the store, such as `server/port`, which the program has from another source.
    public static func texts(_ texts: [String: String]) -> OverrideSource {
        OverrideSource(
            content: .texts(texts.reduce(into: [:]) { $0[$1.key.overrideWords] = (name: $1.key, text: $1.value) }))
    }
}

extension OverrideSource: CustomReflectable {
    /// Nothing: the environment and the arguments may have secrets.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

/// The text that an override source has for a key.
final class OverrideText: Sendable, Equatable {
    /// The argument, the variable or the text, of which the description is the name.
    let source: ValueSource
    /// The text, or the reason why there is none.
    let text: Result<String, CodingFailure>

    /// Whether the text is the content of a file, which may be a secret.
    let isFileContent: Bool

    init(_ source: ValueSource, _ text: Result<String, CodingFailure>, isFileContent: Bool = false) {
        (self.source, self.text, self.isFileContent) = (source, text, isFileContent)
    }

    static func == (left: OverrideText, right: OverrideText) -> Bool {
        left === right || left.source == right.source && left.text == right.text
    }
}

/// The sources of overrides of a store, and the texts that were looked up in them.
final class Overrides: Sendable {
    static let none = Overrides([])
    // Any number of keys may be created.
    private static let limit = 10_000

    /// Those with precedence first.
    let sources: [OverrideSource]
    // Looking one up takes longer than everything else that a change of its entry does.
    private let texts = Lock<[EntryName: OverrideText?]>([:])

    init(_ sources: [OverrideSource]) {
        self.sources = sources
    }

    var isEmpty: Bool { sources.isEmpty }

    /// The text of the first source that has one for a key.
    func text(of name: EntryName) -> OverrideText? {
        isEmpty ? nil : texts.object(of: name, limit: Self.limit) { sources.lazy.compactMap { $0.text(of: name) }.first }
    }
}

extension OverrideSource {
    /// The text for a key; nil if there is none.
    func text(of name: EntryName) -> OverrideText? {
        switch content {
        case .arguments(let arguments): arguments.text(of: name)
        case .environment(let variables): variables.text(of: name)
        case .texts(let texts): texts[name.overrideWords].map { OverrideText(.override($0.name), .success($0.text)) }
        }
    }

    /// The names that belong to a key; no two keys may share one.
    func names(of name: EntryName) -> [String] {
        switch content {
        case .arguments(let arguments): arguments.names(of: name)
        case .environment(let variables): variables.names(of: name)
        case .texts(let texts): texts[name.overrideWords].map { [$0.name] } ?? []
        }
    }

    /// The names that belong to none of some keys.
    func unknownNames(besides keys: [EntryName]) -> [String] {
        let known = Set(keys.flatMap(names))
        return switch content {
        case .arguments(let arguments): arguments.unknownNames(besides: known)
        case .environment(let variables): variables.names.filter { !known.contains($0) }
        case .texts(let texts): texts.values.map(\.name).filter { !known.contains($0) }.sorted()
        }
    }
}

extension EntryName {
    /// The words of the key's name, as arguments have them: `server-port`.
    var overrideWords: String {
        ([registered.own] + path).map(\.overrideWords).filter { !$0.isEmpty }.joined(separator: "-")
    }
}

extension String {
    /// The words of a name as arguments have them: `launch-count` for `launchCount`, `launch-count` and `LAUNCH_COUNT`.
    var overrideWords: String {
        var words: [String] = []
        var word = ""
        for (index, character) in zip(indices, self) {
            let next = self[index...].dropFirst().first
            // A capital letter begins a word, unless it is inside an abbreviation: `URLCache` is URL and Cache.
            let beginsWord = character.isUppercase && word.last.map { !$0.isUppercase || next?.isLowercase == true } == true
            if beginsWord || !(character.isLetter || character.isNumber) {
                if !word.isEmpty { words.append(word.lowercased()) }
                word = ""
            }
            if character.isLetter || character.isNumber { word.append(character) }
        }
        return (word.isEmpty ? words : words + [word.lowercased()]).joined(separator: "-")
    }
}
