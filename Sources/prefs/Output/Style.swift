/// Colours for a terminal, or none for anything else.
struct Style: Equatable {
    private let isColoured: Bool

    /// No colours.
    static let plain = Style(isColoured: false)
    /// Colours.
    static let coloured = Style(isColoured: true)

    private init(isColoured: Bool) {
        self.isColoured = isColoured
    }

    /// Colours for a terminal that has them, unless `NO_COLOR` asks for none.
    init(isTerminal: Bool, environment: [String: String]) {
        isColoured = isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    func key(_ text: String) -> String { painted(text, "1;34") }
    func removed(_ text: String) -> String { painted(text, "31") }
    func newValue(_ text: String) -> String { painted(text, "32") }
    func remark(_ text: String) -> String { painted(text, "2") }

    private func painted(_ text: String, _ code: String) -> String {
        isColoured ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
    }
}
