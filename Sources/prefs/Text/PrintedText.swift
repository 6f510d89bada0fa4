import FoundationSubset
import ObservableStorage

extension [String: PropertyListValue] {
    /// The JSON of a whole property list, with one entry per line.
    ///
    /// - Parameter colour: returns the colored text of a quoted key.
    func json(key colour: (String) -> String = { $0 }) -> [UInt8] {
        let lines = sortedEntries.map { "\n  \(colour($0.key.quoted)): \($0.value.json)" }
        return Array("{\(lines.joined(separator: ","))\(isEmpty ? "" : "\n")}\n".utf8)
    }

    /// The entries, sorted by the bytes of their names.
    var sortedEntries: [(key: String, value: PropertyListValue)] { sorted { $0.key.precedes($1.key) } }
}

extension String {
    /// The string, quoted unless it is unambiguous without quotes.
    var displayName: String {
        let isPlain = unicodeScalars.allSatisfy {
            $0.properties.isAlphabetic || ("0"..."9").contains($0) || "-_./$".unicodeScalars.contains($0)
        }
        return isPlain && !isEmpty ? self : quoted
    }

    /// Returns whether the string, as a key, is sorted before another one.
    func precedes(_ other: String) -> Bool {
        utf8.lexicographicallyPrecedes(other.utf8)
    }
}
