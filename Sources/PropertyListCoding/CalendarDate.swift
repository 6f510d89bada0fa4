/// A day in the Gregorian calendar, continued into the past.
package struct CalendarDate: Equatable {
    package let year: Int
    package let month: Int
    package let day: Int

    /// Days from 0000-03-01, where the arithmetic begins, to 2001-01-01, where property lists count from.
    private static let referenceDay = 730_791
    private static let daysPerEra = 146_097

    /// Creates a date, or returns nil if there is no such date, like the 30th of February.
    package init?(year: Int, month: Int, day: Int) {
        guard 1...12 ~= month, 1...Self.days(in: month, of: year) ~= day else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    /// Creates the date a number of days after 2001-01-01.
    package init(daysSinceReference days: Int) {
        // Years begin in March here, so that the leap day is the last of them.
        let (era, dayOfEra) = (days + Self.referenceDay).flooredQuotientAndRemainder(by: Self.daysPerEra)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// The number of days since 2001-01-01.
    package var daysSinceReference: Int {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredQuotientAndRemainder(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * Self.daysPerEra + dayOfEra - Self.referenceDay
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// The quotient, rounded down, and the remainder, which is not negative.
    func flooredQuotientAndRemainder(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
