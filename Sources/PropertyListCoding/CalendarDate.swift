/// A date and time of day in UTC, in the proleptic Gregorian calendar.
package struct CalendarDate: Equatable {
    package let year: Int
    package let month: Int
    package let day: Int
    package let hour: Int
    package let minute: Int
    package let second: Int

    private static let secondsPerDay: Int64 = 86_400
    /// Days from 0000-03-01, the origin of the arithmetic, to 2001-01-01, the reference date of property lists.
    private static let referenceDay: Int64 = 730_791
    private static let daysPerEra: Int64 = 146_097

    /// Creates a date, or returns nil if there is no such date: the 30th of February, or a 60th second.
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard 1...12 ~= month, 1...Self.days(in: month, of: year) ~= day, 0..<24 ~= hour, 0..<60 ~= minute, 0..<60 ~= second else {
            return nil
        }
        (self.year, self.month, self.day, self.hour, self.minute, self.second) = (year, month, day, hour, minute, second)
    }

    // Days and seconds have 64 bits: an `Int` of 32, as on watches, holds the seconds of 68 years only.

    /// Creates the date a number of seconds after 2001-01-01 00:00:00. Its year must fit into `Int32`.
    package init(secondsSinceReference seconds: Int64) {
        let (days, secondOfDay) = seconds.flooredQuotientAndRemainder(by: Self.secondsPerDay)
        let time = Int(secondOfDay)
        (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60)
        // Years begin in March here, so that the leap day is the last of them.
        let (wholeEras, rest) = (days + Self.referenceDay).flooredQuotientAndRemainder(by: Self.daysPerEra)
        let (era, dayOfEra) = (Int(wholeEras), Int(rest))
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    }

    /// The number of seconds since 2001-01-01 00:00:00.
    package var secondsSinceReference: Int64 {
        let (era, yearOfEra) = (month <= 2 ? year - 1 : year).flooredQuotientAndRemainder(by: 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = Int64(era) * Self.daysPerEra + Int64(dayOfEra) - Self.referenceDay
        return days * Self.secondsPerDay + Int64(hour * 3600 + minute * 60 + second)
    }

    /// The date and the time of day without an offset, such as `2026-11-20T10:00:00`, in ISO 8601; a year has four digits or more.
    package var text: String {
        let day = "\(year < 0 ? "-" : "")\(abs(year).padded(to: 4))-\(month.padded(to: 2))-\(day.padded(to: 2))"
        return "\(day)T\(hour.padded(to: 2)):\(minute.padded(to: 2)):\(second.padded(to: 2))"
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
    /// The digits, with zeros before them up to a width.
    package func padded(to width: Int, radix: Int = 10) -> String {
        let digits = String(self, radix: radix)
        return String(repeating: "0", count: Swift.max(0, width - digits.count)) + digits
    }
}

extension SignedInteger {
    fileprivate func flooredQuotientAndRemainder(by divisor: Self) -> (Self, Self) {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
