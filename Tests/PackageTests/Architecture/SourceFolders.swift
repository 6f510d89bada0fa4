import Foundation

/// The folders of a target and the types that each of them uses of the others.
///
/// The sources are read as text: comments and string literals are skipped, every word that begins with a capital letter is a use, and a use
/// belongs to the folder that declares a type of that name. If several folders do, it belongs to the using folder if that is one of them, and
/// otherwise to the earliest. A private type is visible in its own file only.
struct SourceFolders {
    /// The folders of `Sources/ObservableStorage`: each may use those before it.
    static let order = [
        "Concurrency", "Value", "Entry", "Key", "Change", "File", "Watcher", "Backend", "Journal", "FileBackend", "Store",
        "Access", "Scene", "Apple",
    ]

    /// A use of a type that another folder declares.
    struct Use: Hashable {
        let file: String
        let word: String
        let folder: String
        let declaringFolder: String
    }

    /// The folders with Swift files, sorted by the order; unknown folders come last, by name.
    let folders: [String]
    /// The uses across folders, sorted by file and word.
    let uses: [Use]
    private let order: [String]

    /// Reads the files below a folder; a file's folder is the first component of its path.
    init(at url: URL, order: [String] = order) throws {
        let paths = try FileManager.default.subpathsOfDirectory(atPath: url.path).filter { $0.hasSuffix(".swift") }
        self.init(
            files: try paths.reduce(into: [:]) { $0[$1] = try String(contentsOf: url.appendingPathComponent($1), encoding: .utf8) },
            order: order)
    }

    /// Reads the texts of files by their paths.
    init(files: [String: String], order: [String] = order) {
        let words = files.mapValues(SwiftWords.words)
        var declaringFolders: [String: Set<String>] = [:]
        for (path, words) in words {
            for (name, isPrivate) in SwiftWords.declaredTypes(words) where !isPrivate {
                declaringFolders[name, default: []].insert(Self.folder(of: path))
            }
        }
        let rank: (String) -> Int = { order.firstIndex(of: $0) ?? order.count }
        var uses: Set<Use> = []
        for (path, words) in words {
            let folder = Self.folder(of: path)
            let declaredHere = SwiftWords.declaredTypes(words)
            for word in Set(words) where declaredHere[word] == nil {
                guard let declaring = declaringFolders[word], !declaring.contains(folder) else { continue }
                guard let first = declaring.min(by: { (rank($0), $0) < (rank($1), $1) }) else { continue }
                uses.insert(Use(file: path, word: word, folder: folder, declaringFolder: first))
            }
        }
        self.order = order
        self.uses = uses.sorted { ($0.file, $0.word) < ($1.file, $1.word) }
        folders = Set(files.keys.map(Self.folder)).sorted { (rank($0), $0) < (rank($1), $1) }
    }

    private static func folder(of path: String) -> String {
        path.contains("/") ? String(path.prefix { $0 != "/" }) : ""
    }

    /// What the order forbids, a line each: files in a folder that it does not contain, and uses of a later folder.
    var violations: [String] {
        let unknown = folders.filter { !order.contains($0) }
        let backward = uses.filter { use in
            guard let user = order.firstIndex(of: use.folder) else { return false }
            return order[user...].contains(use.declaringFolder)
        }
        return unknown.map { $0.isEmpty ? "a file is in no folder" : "\($0)/ is not in the order of the folders" }
            + backward.map { "\($0.file) uses \($0.word): \($0.folder)/ comes before \($0.declaringFolder)/, which declares it" }
    }

    /// The folders in their order, each with the folders that it uses.
    var map: String {
        let width = folders.map(\.count).max() ?? 0
        return folders.map { folder in
            let used = Set(uses.lazy.filter { $0.folder == folder }.map(\.declaringFolder))
            let arrows = folders.filter(used.contains).joined(separator: ", ")
            guard !arrows.isEmpty else { return folder + "\n" }
            return "\(folder.padding(toLength: width, withPad: " ", startingAt: 0)) -> \(arrows)\n"
        }.joined()
    }
}

/// The words of a Swift source file.
enum SwiftWords {
    private static let declarations: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias", "macro"]

    private static let modifiers: Set<String> = [
        "public", "package", "internal", "private", "fileprivate", "open", "final", "indirect", "nonisolated",
    ]

    /// The names of the types that a file declares, and whether they are private.
    static func declaredTypes(_ words: [String]) -> [String: Bool] {
        var names: [String: Bool] = [:]
        for (index, word) in words.enumerated().dropLast() where declarations.contains(word) {
            // `class func` and `class var` declare no type.
            guard words[index + 1].first?.isUppercase == true else { continue }
            // `typealias Failure` fulfils a requirement; elsewhere the word is a generic parameter.
            guard words[index...(index + 1)] != ["typealias", "Failure"] else { continue }
            let prefix = words[..<index].reversed().prefix { modifiers.contains($0) }
            let isPrivate = prefix.contains { ["private", "fileprivate"].contains($0) }
            names[words[index + 1]] = isPrivate && names[words[index + 1]] ?? true
        }
        return names
    }

    /// The identifiers and keywords of a text in order, without those in comments and string literals; an interpolation is code.
    static func words(of text: String) -> [String] {
        var scanner = Scanner(bytes: Array(text.utf8))
        scanner.scanCode()
        return scanner.words
    }

    private struct Scanner {
        let bytes: [UInt8]
        var index = 0
        var words: [String] = []

        init(bytes: [UInt8]) {
            self.bytes = bytes
        }

        private func isNext(_ text: StaticString) -> Bool {
            text.withUTF8Buffer { bytes[index...].starts(with: $0) }
        }

        private static func isWordByte(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
            case UInt8(ascii: "_"), 0x80...: true
            default: false
            }
        }

        /// Scans to the end, or to the parenthesis that closes an interpolation.
        mutating func scanCode(isInterpolation: Bool = false) {
            var depth = 0
            while index < bytes.count {
                if isNext("//") {
                    while index < bytes.count, bytes[index] != UInt8(ascii: "\n") { index += 1 }
                } else if isNext("/*") {
                    skipBlockComment()
                } else if let pounds = poundsBeforeQuote() {
                    skipString(pounds: pounds)
                } else if Self.isWordByte(bytes[index]) {
                    let start = index
                    while index < bytes.count, Self.isWordByte(bytes[index]) { index += 1 }
                    words.append(String(decoding: bytes[start..<index], as: UTF8.self))
                } else {
                    if bytes[index] == UInt8(ascii: "(") { depth += 1 }
                    if bytes[index] == UInt8(ascii: ")") { depth -= 1 }
                    if isInterpolation, depth < 0 { return }
                    index += 1
                }
            }
        }

        private mutating func skipBlockComment() {
            var depth = 0
            repeat {
                if isNext("/*") {
                    depth += 1
                    index += 2
                } else if isNext("*/") {
                    depth -= 1
                    index += 2
                } else {
                    index += 1
                }
            } while depth > 0 && index < bytes.count
        }

        /// The number of `#` before the quote of a string literal, or nil if none begins here.
        private func poundsBeforeQuote() -> Int? {
            let pounds = bytes[index...].prefix { $0 == UInt8(ascii: "#") }.count
            let quote = index + pounds
            return quote < bytes.count && bytes[quote] == UInt8(ascii: "\"") ? pounds : nil
        }

        private mutating func skipString(pounds: Int) {
            index += pounds
            let quotes = isNext("\"\"\"") ? 3 : 1
            index += quotes
            let delimiter = Array(repeating: UInt8(ascii: "\""), count: quotes) + Array(repeating: UInt8(ascii: "#"), count: pounds)
            let escape = [UInt8(ascii: "\\")] + Array(repeating: UInt8(ascii: "#"), count: pounds)
            while index < bytes.count {
                if bytes[index...].starts(with: delimiter) {
                    index += delimiter.count
                    return
                }
                guard bytes[index...].starts(with: escape) else {
                    index += 1
                    continue
                }
                index += escape.count
                if index < bytes.count, bytes[index] == UInt8(ascii: "(") {
                    index += 1
                    scanCode(isInterpolation: true)
                }
                index += 1
            }
        }
    }
}
