import Foundation
import PropertyListCoding

enum Codecs {
    static let rows = [
        parse("binary.parse", "parse binary, 10,000 keys", .binary, goal: 1.0 / 20),
        write("binary.write", "write binary, 10,000 keys", .binary, .binary, goal: 1.0 / 60),
        parse("xml.parse", "parse XML, 10,000 keys", .xml, goal: 1.0 / 8),
        write("xml.write", "write XML, 10,000 keys", .xml, .xml, goal: 1.0 / 60),
    ]

    private static let keys = 10_000

    private static func parse(_ name: String, _ work: String, _ format: PropertyListFormat, goal: Double) -> Row {
        Row(name, work, against: "Foundation's parser", goal: goal) { _ in
            let bytes = try PropertyListValue.dictionary(SampleList.make(keys)).encoded(as: format)
            return Pair(
                subject: .each { try PropertyListValue.decode(bytes).value },
                baseline: .each { try PropertyListSerialization.propertyList(from: bytes, format: nil) })
        }
    }

    private static func write(
        _ name: String, _ work: String, _ format: PropertyListFormat, _ other: PropertyListSerialization.PropertyListFormat, goal: Double
    ) -> Row {
        Row(name, work, against: "Foundation's writer", goal: goal) { _ in
            let list = PropertyListValue.dictionary(SampleList.make(keys))
            let same = try PropertyListSerialization.propertyList(from: list.encoded(as: format), format: nil)
            return Pair(
                subject: .each { try list.encoded(as: format) },
                baseline: .each { try PropertyListSerialization.data(fromPropertyList: same, format: other, options: 0) })
        }
    }
}
