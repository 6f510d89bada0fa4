extension String {
    /// The name that this one is probably a misspelling of; nil if none is similar.
    ///
    /// A name in other letter case, or with other separators, as `log-level` for `logLevel`, is nearer than any with another letter.
    package func nearest(among names: some Sequence<String>) -> String? {
        let own = Array(folded)
        // A long prefix of groups makes no other name similar.
        let limit = Swift.max(1, (own.split { $0 == "/" || $0 == "." }.last?.count ?? 0) / 3)
        let candidates = names.compactMap { name -> (name: String, distance: Int)? in
            let letters = Array(name.folded)
            // At least as far as their lengths: a name in a file may be of any size.
            guard abs(letters.count - own.count) <= limit else { return nil }
            return (name, Self.distance(own, letters))
        }.filter { $0.distance <= limit }
        return candidates.min { ($0.distance, $0.name) < ($1.distance, $1.name) }?.name
    }

    private var folded: String {
        lowercased().filter { $0 != "-" && $0 != "_" }
    }

    /// The number of letters to insert, remove or replace, or neighbors to swap.
    private static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var rows = [[Int]](repeating: Array(0...right.count), count: left.count + 1)
        for (row, letter) in left.enumerated() {
            rows[row + 1][0] = row + 1
            for (column, other) in right.enumerated() {
                let replaced = rows[row][column] + (letter == other ? 0 : 1)
                var best = Swift.min(replaced, rows[row][column + 1] + 1, rows[row + 1][column] + 1)
                if row > 0, column > 0, letter == right[column - 1], other == left[row - 1] {
                    best = Swift.min(best, rows[row - 1][column - 1] + 1)
                }
                rows[row + 1][column + 1] = best
            }
        }
        return rows[left.count][right.count]
    }
}
