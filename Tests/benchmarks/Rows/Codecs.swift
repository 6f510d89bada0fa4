import Foundation
import PropertyListCoding

enum Codecs {
    static let rows = [
        parse("binary.parse", "parse binary, 10,000 keys", .binary, goal: 1.0 / 20),
        write("binary.write", "write binary, 10,000 keys", .binary, .binary, goal: 1.0 / 60),
        parse("xml.parse", "parse XML, 10,000 keys", .xml, goal: 1.0 / 8),
        write("xml.write", "write XML, 10,000 keys", .xml, .xml, goal: 1.0 / 60),
        parseJSON, writeJSON, editJSON,
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

    private static let parseJSON = Row("json.parse", "parse JSON, 10,000 keys", against: "JSONSerialization", goal: 0.3) { _ in
        let bytes = try PropertyListValue.dictionary(SampleList.makeJSON(keys)).encoded(as: .json)
        return Pair(
            subject: .each { try PropertyListValue.decode(bytes).value },
            baseline: .each { try JSONSerialization.jsonObject(with: bytes) })
    }

    private static let writeJSON = Row("json.write", "write JSON, 10,000 keys", against: "JSONSerialization", goal: 1.0 / 100) { _ in
        let list = PropertyListValue.dictionary(SampleList.makeJSON(keys))
        let same = try JSONSerialization.jsonObject(with: list.encoded(as: .json))
        return Pair(
            subject: .each { try list.encoded(as: .json) },
            baseline: .each { try JSONSerialization.data(withJSONObject: same, options: [.prettyPrinted, .sortedKeys]) })
    }

    /// Without an editor of text, a change of one value is reading and writing all of them.
    private static let editJSON = Row(
        "json.edit", "change one value in 1 MB of JSON", against: "JSONSerialization, reading and writing", goal: 1.0 / 30
    ) { _ in
        let entries = SampleList.makeJSON(3 * keys)
        let bytes = try PropertyListValue.dictionary(entries).encoded(as: .json)
        let key = SampleList.name(keys)
        return Pair(
            subject: .each { try PropertyListValue.encode(entries, with: [key: "edited"], as: .json, editing: bytes) },
            baseline: .each {
                var object = try JSONSerialization.jsonObject(with: bytes) as? [String: Any] ?? [:]
                object[key] = "edited"
                return try JSONSerialization.data(withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
            })
    }
}
