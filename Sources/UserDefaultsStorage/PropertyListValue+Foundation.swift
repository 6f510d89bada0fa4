import Foundation
public import PropertyListCoding

extension PropertyListValue {
    /// Creates a value from a property-list object of Foundation, such as `PropertyListSerialization` returns; nil if it is not one.
    ///
    /// `NSNumber` is a Boolean, a real or an integer by its Objective-C type; on Linux, one created from an `Int8` is taken for a Boolean.
    public init?(foundation object: Any) {
        switch object {
        case let string as String: self = .string(string)
        case let data as Data: self = .data(data)
        case let date as Date: self = .date(date)
        case let number as NSNumber: self.init(number)
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

    // Foundation's numbers are equal across types, so that only their Objective-C type distinguishes them.
    private init?(_ number: NSNumber) {
        if number.isBoolean {
            self = .boolean(number.boolValue)
        } else if ["d", "f"].contains(String(cString: number.objCType)) {
            self = .real(number.doubleValue)
        } else if let integer = Int64(number.description) {
            self = .integer(PropertyListInteger(integer))
        } else if let integer = UInt64(number.description) {
            self = .integer(PropertyListInteger(integer))
        } else {
            return nil
        }
    }

    /// The object that Foundation stores for the value; nil for a UID, or a container with one.
    var foundation: Any? {
        switch self {
        case .string(let string): return string
        case .data(let data): return data
        case .date(let date): return date
        case .boolean(let boolean): return NSNumber(value: boolean)
        // The addition turns -0.0, which Foundation's XML does not preserve, into 0.0.
        case .real(let real): return NSNumber(value: UserDefaultsBackend.format == .xml ? real + 0 : real)
        case .integer(let integer):
            if let signed = integer.value(as: Int64.self) { return NSNumber(value: signed) }
            return integer.value(as: UInt64.self).map { NSNumber(value: $0) }
        case .array(let elements):
            let objects = elements.compactMap(\.foundation)
            return objects.count == elements.count ? objects : nil
        case .dictionary(let entries):
            let objects = entries.compactMapValues(\.foundation)
            return objects.count == entries.count ? objects : nil
        case .uid: return nil
        }
    }
}
