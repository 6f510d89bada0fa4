import Foundation

/// Dates as ISO 8601 texts in UTC, with the shortest fraction of a second that reads as the same date.
enum DateText {
    // As many seconds as a double tells apart: what is beyond has no calendar.
    private static let furthest = 9e15

    /// The text of a date, such as `2026-11-20T10:00:00.25Z`.
    ///
    /// Years beyond 1 to 9999 have a sign and as many digits as they need; times beyond any calendar are the reference date
    /// and the seconds from it.
    static func text(of date: Date) -> String {
        let seconds = date.timeIntervalSinceReferenceDate
        guard seconds.magnitude < furthest else { return "2001-01-01T00:00:00Z\(seconds < 0 ? "" : "+")\(seconds)s" }
        let (whole, fraction) = DecimalSeconds.split(seconds)
        let days = Int((Double(whole) / 86_400).rounded(.down))
        return text(days: whole - days * 86_400 < 0 ? days - 1 : days, whole: whole, fraction: fraction)
    }

    private static func text(days: Int, whole: Int, fraction: String) -> String {
        let day = CivilDay(daysSinceReference: days)
        let time = whole - days * 86_400
        let clock = [time / 3600, time / 60 % 60, time % 60].map { padded($0, 2) }.joined(separator: ":")
        let sign = day.year < 0 ? "-" : day.year > 9999 ? "+" : ""
        let date = "\(sign)\(padded(abs(day.year), 4))-\(padded(day.month, 2))-\(padded(day.day, 2))"
        return "\(date)T\(clock)\(fraction.isEmpty ? "" : ".\(fraction)")Z"
    }

    /// The date of a text with `Z` or an offset; nothing if it is none.
    static func date(_ text: String) -> Date? {
        var scanner = DateScanner(text)
        guard let (day, seconds, fraction) = scanner.dateAndTime(), let offset = scanner.offset(), scanner.isAtEnd else { return nil }
        let whole = day.daysSinceReference * 86_400 + seconds - offset
        return Date(timeIntervalSinceReferenceDate: DecimalSeconds.join(whole: whole, fraction: fraction))
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}
