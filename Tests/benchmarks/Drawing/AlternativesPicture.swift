/// The library's times beside those of what an application would use instead of it: a line from one to the other for each row.
struct AlternativesPicture {
    private static let (width, rowHeight, top, bottom) = (880.0, 46.0, 52.0, 34.0)
    private static let (start, end) = (400.0, 780.0)

    /// The cells of each row, and its times in nanoseconds.
    let rows: [(cells: [String], here: Double, there: Double)]

    /// Takes the rows of a page's tables whose baseline is no smaller program that does the same.
    init(_ page: String) {
        let alternatives = [
            "Foundation's", "`UserDefaults", "`set` and `synchronize()`", "a look at the file", "SQLite", "LMDB", "libplist",
        ]
        rows = PrintedTable.lines(in: page).compactMap { cells in
            guard cells.count >= 5, alternatives.contains(where: { cells[2].hasPrefix($0) }), let here = Figures.nanoseconds(cells[1]),
                let there = Figures.nanoseconds(cells[3])
            else { return nil }
            return (cells, here, there)
        }
    }

    /// The picture as a complete file.
    var svg: String {
        let times = LogScale.decades(around: rows.flatMap { [$0.here, $0.there] })
        let scale = LogScale(domain: times, start: Self.start, end: Self.end)
        let end = Self.top + Self.rowHeight * Double(rows.count)
        var elements = SVG.text("heading", 16, 26, "Time on a logarithmic scale")
        elements += SVG.text("here", Self.start, 26, "ObservableStorage") + SVG.text("there", Self.start + 150, 26, "the alternative")
        for decade in scale.decades {
            let x = scale.position(decade.time)
            elements += SVG.line("grid", x: (x, x), y: (Self.top, end)) + SVG.text("axis", x, end + 18, decade.text)
        }
        for (index, row) in rows.enumerated() {
            let y = Self.top + Self.rowHeight * (Double(index) + 0.5)
            let (here, there) = (scale.position(row.here), scale.position(row.there))
            elements += SVG.text("work", 16, y - 3, row.cells[0].filter { $0 != "`" })
            elements += SVG.text("against", 16, y + 13, row.cells[2].filter { $0 != "`" })
            elements += SVG.line("gap", x: (here, there), y: (y, y))
            elements += SVG.circle("here", here, y, radius: 5) + SVG.circle("there", there, y, radius: 5)
            elements += SVG.text("ratio", Self.end + 16, y + 4, row.cells[4])
        }
        return SVG.picture("Times of the library and of alternatives", width: Self.width, height: end + Self.bottom, elements)
    }
}
