import Foundation
import PropertyListCoding

/// Sample property lists with entries of all the types that settings have.
enum SampleList {
    static func name(_ index: Int) -> String {
        "setting.\(index)"
    }

    /// A list with the given number of entries.
    static func make(_ count: Int) -> [String: PropertyListValue] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { (name($0), value($0)) })
    }

    /// The same list as a JSON file has it, with text for dates and data.
    static func makeJSON(_ count: Int) -> [String: PropertyListValue] {
        make(count).mapValues { value in
            switch value {
            case .date(let date): .string(date.iso8601)
            case .data(let data): .string(data.base64EncodedString())
            default: value
            }
        }
    }

    private static func value(_ index: Int) -> PropertyListValue {
        switch index % 8 {
        case 0, 1: .integer(PropertyListInteger(Int64(index)))
        case 2: .real(Double(index) / 7)
        case 3: .boolean(index.isMultiple(of: 3))
        case 4: .string("the text of setting \(index)")
        case 5: .date(Date(timeIntervalSinceReferenceDate: Double(index)))
        case 6: .data(Data(repeating: UInt8(truncatingIfNeeded: index), count: 24))
        default: .array([.integer(PropertyListInteger(Int64(index))), .string("one of \(index)"), .boolean(true)])
        }
    }
}
