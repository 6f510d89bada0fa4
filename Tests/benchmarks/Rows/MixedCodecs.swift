import Foundation
import PropertyListCoding

/// Lists of all types, and the extremes of one type, read and written also by libplist.
enum MixedCodecs {
    static let rows =
        [10_000, 1_000, 100_000, 1_000_000].flatMap { count in
            rows("mixed.\(count)", "\(Figures.entries(count)) of all types", isLong: count == 1_000_000) { MixedList.make(count) }
        }
        + rows("ascii", "20 texts of 1 MB") { MixedList.texts(20, of: 1_000_000, from: MixedList.ascii) }
        + rows("cyrillic", "20 texts of 1,000,000 Cyrillic characters") {
            MixedList.texts(20, of: 1_000_000, from: MixedList.cyrillic)
        }
        + rows("chinese", "20 texts of 1,000,000 Chinese characters") { MixedList.texts(20, of: 1_000_000, from: MixedList.chinese) }
        + rows("equal", "500,000 equal texts") { MixedList.equalTexts(500_000) }
        + rows("data", "50 MB of data") { MixedList.data(50_000_000) }

    /// - Parameter isLong: whether libplist, whose tables of many objects are slow, needs minutes to write binary and to read XML.
    private static func rows(
        _ name: String, _ list: String, isLong: Bool = false, _ make: @escaping @Sendable () -> PropertyListValue
    ) -> [Row] {
        [(PropertyListFormat.binary, "binary"), (.xml, "XML")].flatMap { format, title in
            let parse = row("\(format.rawValue).parse.\(name)", "parse \(title), \(list)") { library in
                let bytes = try make().encoded(as: format)
                return Pair(
                    subject: .each { try PropertyListValue.decode(bytes).value },
                    baseline: .each { try library.parse(bytes, as: format) })
            }
            let write = row("\(format.rawValue).write.\(name)", "write \(title), \(list)") { library in
                // Both as they are in memory after reading.
                let bytes = try make().encoded(as: .binary)
                let (value, tree) = try (PropertyListValue.decode(bytes).value, library.parse(bytes, as: .binary))
                return Pair(subject: .each { try value.encoded(as: format) }, baseline: .each { try library.write(tree, as: format) })
            }
            return !isLong ? [parse, write] : [format == .binary ? parse : write]
        }
    }

    private static func row(_ name: String, _ work: String, _ prepare: @escaping @Sendable (LibPlist) throws -> Pair) -> Row {
        // The first four are the ones that the picture shows.
        let other = name.hasSuffix("mixed.10000") ? "libplist" : "the same"
        return Row("peers.libplist.\(name)", work, against: other, goal: 1, missing: LibPlist.missing) { _ in try prepare(LibPlist()) }
    }
}
