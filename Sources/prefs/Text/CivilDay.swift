/// A day of the Gregorian calendar, also before there was one, as ISO 8601 counts.
struct CivilDay: Equatable {
    let year: Int
    let month: Int
    let day: Int

    // Days from 0000-03-01 to 2001-01-01: years that begin in March have their leap day at the end.
    private static let epoch = 730_791
    private static let daysInEra = 146_097

    /// The day so many days after 2001-01-01.
    init(daysSinceReference days: Int) {
        let days = days + Self.epoch
        let era = (days >= 0 ? days : days - (Self.daysInEra - 1)) / Self.daysInEra
        let ofEra = days - era * Self.daysInEra
        let yearOfEra = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
        let ofYear = ofEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * ofYear + 2) / 153
        day = ofYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// A day that exists.
    init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), (1...31).contains(day) else { return nil }
        self.year = year
        self.month = month
        self.day = day
        guard CivilDay(daysSinceReference: daysSinceReference) == self else { return nil }
    }

    /// How many days after 2001-01-01 it is.
    var daysSinceReference: Int {
        let year = month <= 2 ? year - 1 : year
        let era = (year >= 0 ? year : year - 399) / 400
        let yearOfEra = year - era * 400
        let ofYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let ofEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + ofYear
        return era * Self.daysInEra + ofEra - Self.epoch
    }
}
