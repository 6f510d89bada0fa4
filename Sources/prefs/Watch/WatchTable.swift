import ObservableStorage

/// The table that `prefs watch` displays on a terminal: a row for each key, with those of the last change marked.
struct WatchTable {
    enum Event {
        /// A key has changed, at a time of day.
        case change(WatchLine, time: String)
        /// The file cannot be read or watched.
        case failure(String)
        case size(columns: Int, rows: Int)
    }

    private struct Row {
        let key: String
        var value: PropertyListValue?
        var last: (line: WatchLine, time: String)?

        var valueText: String { value?.json ?? (last == nil ? "(none)" : "(removed)") }
    }

    private static let minimumWidths = (key: 12, value: 12)

    private let title: String
    /// Sorted, or in the order in which the keys were named.
    private var rows: [Row]
    private let hasNamedKeys: Bool
    private var revision: UInt64 = 0
    private var failure: String?
    private var size = (columns: 80, rows: 24)
    private var firstVisibleRow = 0

    /// Creates a table of the named keys, set or not, in their order, or of all entries, sorted.
    init(title: String, entries: [String: PropertyListValue], keys: [String]?) {
        self.title = title
        hasNamedKeys = keys != nil
        rows = (keys ?? entries.sortedEntries.map(\.key)).map { Row(key: $0, value: entries[$0]) }
    }

    mutating func apply(_ event: Event) {
        switch event {
        case .failure(let reason): failure = reason
        case .size(let columns, let rows): size = (columns, rows)
        case .change(let line, let time):
            failure = nil
            if line.revision != revision { dropRemovedRows() }
            revision = line.revision
            let index = index(of: line.key)
            rows[index].value = line.new
            rows[index].last = (line, time)
            show(index)
        }
        show(firstVisibleRow)
    }

    /// Removes the rows of keys that were removed before the last change.
    private mutating func dropRemovedRows() {
        if !hasNamedKeys { rows.removeAll { $0.value == nil } }
    }

    /// The row of a key, which is inserted if there is none.
    private mutating func index(of key: String) -> Int {
        if hasNamedKeys { return rows.firstIndex { $0.key == key } ?? 0 }
        let index = rows.indices.partitioningIndex { !rows[$0].key.precedes(key) }
        if index == rows.count || rows[index].key != key { rows.insert(Row(key: key), at: index) }
        return index
    }

    /// Scrolls so that a row is visible, and the last rows fill the screen.
    private mutating func show(_ index: Int) {
        firstVisibleRow = min(max(firstVisibleRow, index - visibleRows + 1), index)
        firstVisibleRow = max(0, min(firstVisibleRow, rows.count - visibleRows))
    }

    private var visibleRows: Int { max(1, size.rows - 2) }
}

// MARK: - Drawing

extension WatchTable {
    /// The lines of the screen, none of them wider than the terminal; `output` colours them.
    func lines(_ output: Output) -> [String] {
        guard size.rows > 2 else { return [] }
        let visible = rows[firstVisibleRow..<min(rows.count, firstVisibleRow + visibleRows)]
        let keyWidth = min(visible.map { $0.key.displayName.width }.max() ?? 0, max(Self.minimumWidths.key, size.columns * 2 / 5))
        let widest = visible.map { $0.valueText.width }.max() ?? 0
        let valueWidth = min(widest, max(Self.minimumWidths.value, (size.columns - keyWidth) / 2))
        let body = visible.map { row in line(row, keyWidth, valueWidth, output) }
        return [output.remark(title.escaped.fitted(to: size.columns))] + body + [footer(visible.indices, output)]
    }

    private func line(_ row: Row, _ keyWidth: Int, _ valueWidth: Int, _ output: Output) -> String {
        let isMarked = row.last.map { $0.line.revision == revision } ?? false
        let key = row.key.displayName.fitted(to: keyWidth).padded(to: keyWidth)
        let value = row.valueText.fitted(to: valueWidth).padded(to: valueWidth)
        let details = row.last.map { "\($0.time) \($0.line.origin ?? ""), was \($0.line.old?.json ?? "(none)")" } ?? ""
        // The parts are cut before they are coloured, because escape sequences have no width.
        var rest = size.columns
        let paint = { (text: String, colour: (String) -> String) -> String in
            let cut = text.fitted(to: rest)
            rest -= cut.width
            return cut.isEmpty ? "" : colour(cut)
        }
        let plain = { (text: String) in text }
        let valueColour = !isMarked ? plain : row.value == nil ? output.removed : output.newValue
        return [
            paint(isMarked ? "* " : "  ", plain), paint(key, output.key), paint("  ", plain), paint(value, valueColour), paint("  ", plain),
            paint(details, output.remark),
        ].joined()
    }

    private func footer(_ visible: Range<Int>, _ output: Output) -> String {
        if let failure { return output.removed(failure.escaped.fitted(to: size.columns)) }
        let range =
            visible.count < rows.count ? "keys \(visible.lowerBound + 1)-\(visible.upperBound) of \(rows.count)" : "\(rows.count) keys"
        return output.remark("\(range), revision \(revision), Ctrl-C ends".fitted(to: size.columns))
    }
}

// MARK: - The width of text

extension String {
    /// The string without control characters and line breaks.
    fileprivate var escaped: String {
        unicodeScalars.contains { $0.isUnprintable || $0 == "\n" || $0 == "\t" } ? quoted : self
    }

    /// The number of columns of a terminal that the string occupies.
    var width: Int { reduce(0) { $0 + $1.width } }

    /// The beginning of the string that fits into a number of columns, with an ellipsis if something is missing.
    func fitted(to columns: Int) -> String {
        var (text, width, isCut) = ("", 0, false)
        for character in self {
            width += character.width
            guard width <= columns else {
                isCut = true
                break
            }
            text.append(character)
        }
        guard isCut else { return text }
        while !text.isEmpty, text.width >= columns { text.removeLast() }
        return columns > 0 ? text + "…" : ""
    }

    fileprivate func padded(to columns: Int) -> String {
        self + String(repeating: " ", count: max(0, columns - width))
    }
}

extension Character {
    // The blocks of East Asian wide characters, and of pictographs.
    private static let wideScalars: [ClosedRange<UInt32>] = [
        0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60,
        0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD,
    ]

    fileprivate var width: Int {
        unicodeScalars.map { scalar in
            switch scalar.properties.generalCategory {
            case .nonspacingMark, .enclosingMark, .format, .control: 0
            default: Self.wideScalars.contains { $0.contains(scalar.value) } || scalar.properties.isEmojiPresentation ? 2 : 1
            }
        }.max() ?? 0
    }
}
