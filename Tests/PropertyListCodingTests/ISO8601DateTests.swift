import Foundation
import PropertyListCoding
import Testing

@Suite("Dates as text", .timeLimit(.minutes(10)))
struct ISO8601DateTests {
    @Test(
        "Dates are written in UTC with the shortest fraction",
        arguments: [
            (0.0, "2001-01-01T00:00:00Z"), (817_120_800.25, "2026-11-23T10:00:00.25Z"), (-0.25, "2000-12-31T23:59:59.75Z"),
            (-1.0, "2000-12-31T23:59:59Z"), (0.1, "2001-01-01T00:00:00.1Z"), (1e-6, "2001-01-01T00:00:00.000001Z"),
            (-63_113_904_000, "0001-01-01T00:00:00Z"), (252_423_993_599, "9999-12-31T23:59:59Z"), (-486259200, "1985-08-05T00:00:00Z"),
            (99_705_600, "2004-02-29T00:00:00Z"), (-63_113_904_001, "0000-12-31T23:59:59Z"),
            (-63_145_526_401, "-0001-12-31T23:59:59Z"), (252_423_993_600, "+10000-01-01T00:00:00Z"),
            (.infinity, "2001-01-01T00:00:00Z+infs"), (1e300, "2001-01-01T00:00:00Z+1e+300s"),
        ])
    func writing(_ seconds: Double, _ text: String) {
        #expect(Date(timeIntervalSinceReferenceDate: seconds).iso8601 == text)
    }

    @Test(
        "Fractions and offsets are parsed",
        arguments: [
            ("2001-01-01T00:00:00Z", 0.0), ("2001-01-01T01:00:00+01:00", 0), ("2000-12-31T19:30:00-0430", 0),
            ("2001-01-01T05:00:00.500+05", 0.5),
            ("2001-01-01t00:00:00,25z", 0.25), ("2001-01-01 00:00:00.000Z", 0), ("2004-02-29T00:00:00Z", 99_705_600),
            ("0001-01-01T00:00:00Z", -63_113_904_000), ("-0001-12-31T23:59:59Z", -63_145_526_401),
            ("+10000-01-01T00:00:00Z", 252_423_993_600),
        ])
    func reading(_ text: String, _ seconds: Double) {
        #expect(Date(iso8601: text)?.timeIntervalSinceReferenceDate == seconds)
    }

    @Test(
        "A string that is not a date, or has no offset, is not parsed",
        arguments: [
            "", "2001-01-01", "2001-01-01T00:00:00", "2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-00-10T00:00:00Z",
            "2001-01-01T24:00:00Z", "2001-01-01T00:60:00Z", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00Zx", "2001-1-1T00:00:00Z",
            "2001-01-01T00:00:00+1", "2001-01-01T00:00:00+01:", "20010101T000000Z", "２００１-01-01T00:00:00Z",
        ])
    func rejecting(_ text: String) {
        #expect(Date(iso8601: text) == nil)
    }

    @Test("Every date is read back bit for bit")
    func roundTrip() {
        let samples = (0..<20_000).map { _ in Double.random(in: -63_113_904_000...252_423_993_600) }
        let now = (0..<20_000).map { _ in 817_000_000 + Double.random(in: 0...1e6) }
        let small =
            (0..<2000).map { Double.random(in: -1...1) * Double.exp10(-Double($0 % 40)) } + [
                .leastNonzeroMagnitude, -.leastNonzeroMagnitude,
            ]
        for seconds in samples + now + small where seconds != 0 {
            let text = Date(timeIntervalSinceReferenceDate: seconds).iso8601
            #expect(Date(iso8601: text)?.timeIntervalSinceReferenceDate == seconds, "\(text)")
        }
    }

    @Test("Days, years and leap years are those of the calendar, in order")
    func days() {
        var previous = CalendarDate(secondsSinceReference: -1_000_001 * 86_400)
        for number in Int64(-1_000_000)...4_000_000 where number % 97 == 0 {
            let date = CalendarDate(secondsSinceReference: number * 86_400)
            #expect(date.secondsSinceReference == number * 86_400)
            #expect((date.year, date.month, date.day) > (previous.year, previous.month, previous.day))
            previous = date
        }
    }
}

extension Double {
    fileprivate static func exp10(_ exponent: Double) -> Double { pow(10, exponent) }
}
