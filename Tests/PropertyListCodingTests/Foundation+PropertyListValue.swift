import Foundation
import PropertyListCoding

extension PropertyListValue {
    /// The result of `PropertyListSerialization` as a value; nil if it has no counterpart.
    init?(foundation object: Any) {
        switch object {
        case let string as String: self = .string(string)
        case let date as Date: self = .date(date)
        case let data as Data: self = .data(data)
        case let number as NSNumber: self.init(number: number)
        case let elements as [Any]:
            let values = elements.compactMap { PropertyListValue(foundation: $0) }
            guard values.count == elements.count else { return nil }
            self = .array(values)
        case let entries as [String: Any]:
            let values = entries.compactMapValues { PropertyListValue(foundation: $0) }
            guard values.count == entries.count else { return nil }
            self = .dictionary(values)
        default: return nil
        }
    }

    private init?(number: NSNumber) {
        switch String(cString: number.objCType) {
        case "c", "B": self = .boolean(number.boolValue)
        case "d", "f": self = .real(number.doubleValue)
        default:
            guard let integer = PropertyListInteger(decimal: number.description) else { return nil }
            self = .integer(integer)
        }
    }

    /// The value as objects that `PropertyListSerialization` writes; a uid has no counterpart.
    var foundation: Any {
        switch self {
        case .string(let string): string
        case .integer(let integer):
            integer.value(as: Int64.self).map { NSNumber(value: $0) } ?? NSNumber(value: integer.value(as: UInt64.self) ?? 0)
        case .real(let real): NSNumber(value: real)
        case .boolean(let boolean): NSNumber(value: boolean)
        case .date(let date): date
        case .data(let data): data
        case .array(let elements): elements.map(\.foundation)
        case .dictionary(let entries): entries.mapValues(\.foundation)
        case .uid(let uid): uid
        }
    }
}

extension PropertyListInteger {
    fileprivate init?(decimal: String) {
        if let signed = Int64(decimal) {
            self.init(signed)
        } else if let unsigned = UInt64(decimal) {
            self.init(unsigned)
        } else {
            return nil
        }
    }
}

extension PropertyListFormat {
    /// Foundation's name for the format.
    var foundation: PropertyListSerialization.PropertyListFormat {
        self == .binary ? .binary : .xml
    }
}
