import Foundation
@testable import CloudStorage
import ObservableStorage
import PropertyListCoding
import Testing

@Suite("Entries of the cloud", .timeLimit(.minutes(10)))
struct CloudEnvelopeTests {
    @Test(
        "A value of every type, and a removal, is read back with its time",
        arguments: [
            nil, "text", 1, 1.5, true, .date(Date(timeIntervalSinceReferenceDate: 0.25)), .data(Data([1, 2])), [1, "two"],
            ["a": ["b": 1.0]],
        ] as [PropertyListValue?])
    func roundTrip(value: PropertyListValue?) {
        let envelope = CloudEnvelope(value, at: 7)
        #expect(CloudEnvelope(reading: envelope.entry) == envelope)
    }

    @Test("A value of another program has no known time, dictionaries included")
    func plain() {
        for value in ["text", ["value": 1], ["ObservableStorage.time": "late", "value": 1], ["ObservableStorage.time": 1, "other": 1]]
            as [PropertyListValue]
        {
            #expect(CloudEnvelope(reading: value) == CloudEnvelope(value, at: 0))
        }
    }

    @Test("A time after which there are no numbers is not known", arguments: [0, -1, Int64.max])
    func badTime(time: Int64) {
        let entry: PropertyListValue = ["ObservableStorage.time": .integer(PropertyListInteger(time)), "value": 1]
        #expect(CloudEnvelope(reading: entry) == CloudEnvelope(1, at: 0))
    }

    @Test("Of two different values of the same time, every device prefers the same one, and any value over a removal")
    func preference() {
        let values: [PropertyListValue?] = [nil, 1, 2, 1.0, "1", ["a": 1, "b": 2], ["a": 2, "b": 1], [1], false]
        for (left, value) in values.enumerated() {
            #expect(!CloudEnvelope.isPreferred(value, over: value))
            for other in values[..<left] {
                #expect(CloudEnvelope.isPreferred(value, over: other) != CloudEnvelope.isPreferred(other, over: value))
            }
            if value != nil { #expect(CloudEnvelope.isPreferred(value, over: nil)) }
        }
    }

    @Test("A stored time is read back; anything else is none")
    func stamp() {
        for stamp in [CloudStamp(0, isPushed: true), CloudStamp(5, isPushed: false)] {
            let entry = stamp.entry(beside: "a")
            #expect(CloudStamp(reading: entry, beside: "a") == stamp)
            for other in ["b", nil] as [PropertyListValue?] { #expect(CloudStamp(reading: entry, beside: other)?.isOfValue == false) }
        }
        #expect(CloudStamp(reading: ["time": 5, "isPushed": false], beside: "a") == CloudStamp(5, isPushed: false))
        #expect(CloudStamp(reading: nil, beside: nil) == nil)
        #expect(CloudStamp(reading: 5, beside: 5) == nil)
        #expect(CloudStamp(reading: CloudStamp(.max, isPushed: true).entry(beside: 5), beside: 5) == nil)
    }

    @Test("A name may have 64 bytes of UTF-8, not characters")
    func names() {
        #expect(CloudLimits.obstacle(to: String(repeating: "a", count: 64)) == nil)
        #expect(CloudLimits.obstacle(to: String(repeating: "ä", count: 33)) == "its name has 66 bytes, and iCloud allows 64")
    }

    @Test("Too large a value, too many keys and too many bytes in all are refused with the limit")
    func sizes() {
        let value = { (count: Int) in PropertyListValue.data(Data(count: count)) }
        #expect(CloudLimits.obstacle(to: value(999_000), named: "a", beside: [:]) == nil)
        #expect(CloudLimits.obstacle(to: value(1_000_000), named: "a", beside: [:])?.hasSuffix("iCloud allows 1000000 for a value") == true)
        let many = Dictionary(uniqueKeysWithValues: (0..<1024).map { ("\($0)", 1) })
        #expect(CloudLimits.obstacle(to: 1, named: "a", beside: many) == "iCloud already has 1024 keys, and allows 1024")
        #expect(CloudLimits.obstacle(to: 1, named: "0", beside: many) == nil)
        #expect(CloudLimits.obstacle(to: value(500_000), named: "a", beside: ["b": 600_000])?.hasSuffix("iCloud allows 1000000") == true)
        #expect(CloudLimits.obstacle(to: value(500_000), named: "a", beside: ["b": 600_000, "a": 550_000]) == nil)
        #expect(CloudLimits.obstacle(to: [.uid(1)], named: "a", beside: [:]) == "iCloud cannot store a value of this type")
    }
}
