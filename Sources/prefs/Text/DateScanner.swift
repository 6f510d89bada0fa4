/// Walks over an ISO 8601 text.
struct DateScanner {
    private var rest: Substring

    init(_ text: String) {
        rest = text[...]
    }

    var isAtEnd: Bool {
        rest.isEmpty
    }

    /// The day, the seconds of the day, and the digits of the fraction.
    mutating func dateAndTime() -> (day: CivilDay, seconds: Int, fraction: String)? {
        guard let year = year(), skip("-"), let month = number(2), skip("-"), let dayOfMonth = number(2),
            let day = CivilDay(year: year, month: month, day: dayOfMonth), skip("T") || skip("t") || skip(" "),
            let hour = number(2), hour < 24, skip(":"), let minute = number(2), minute < 60, skip(":"), let second = number(2), second < 60
        else { return nil }
        let seconds = hour * 3600 + minute * 60 + second
        guard skip(".") || skip(",") else { return (day, seconds, "") }
        let fraction = String(rest.prefix { isDigit($0) })
        rest.removeFirst(fraction.count)
        return fraction.isEmpty ? nil : (day, seconds, fraction)
    }

    /// The offset from UTC in seconds.
    mutating func offset() -> Int? {
        if skip("Z") || skip("z") { return 0 }
        let isNegative = skip("-")
        guard isNegative || skip("+"), let hours = number(2), hours < 24 else { return nil }
        guard !isAtEnd else { return (isNegative ? -1 : 1) * hours * 3600 }
        _ = skip(":")
        guard let minutes = number(2), minutes < 60 else { return nil }
        return (isNegative ? -1 : 1) * (hours * 3600 + minutes * 60)
    }

    private mutating func year() -> Int? {
        let isNegative = skip("-")
        guard isNegative || skip("+") else { return number(4) }
        let digits = rest.prefix { isDigit($0) }.count
        guard (4...9).contains(digits), let year = number(digits) else { return nil }
        return isNegative ? -year : year
    }

    private mutating func number(_ count: Int) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
        rest.removeFirst(count)
        return Int(digits)
    }

    private func isDigit(_ character: Character) -> Bool {
        ("0"..."9").contains(character)
    }

    private mutating func skip(_ character: Character) -> Bool {
        guard rest.first == character else { return false }
        rest.removeFirst()
        return true
    }
}
