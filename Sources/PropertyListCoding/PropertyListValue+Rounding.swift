import Foundation

extension PropertyListValue {
    /// The value as it will read back once it was written in a format.
    ///
    /// XML cuts dates to whole seconds and knows one value only that is not a number; binary changes nothing.
    public func rounded(for format: PropertyListFormat) -> PropertyListValue {
        format == .xml ? roundedForXML ?? self : self
    }

    /// The value as XML holds it; nothing if that is the value itself.
    fileprivate var roundedForXML: PropertyListValue? {
        switch self {
        case .date(let date):
            let seconds = date.timeIntervalSinceReferenceDate
            let whole = seconds.rounded(.down) + 0
            return whole.bitPattern == seconds.bitPattern ? nil : .date(Date(timeIntervalSinceReferenceDate: whole))
        case .real(let real):
            return real.isNaN && real.bitPattern != Double.nan.bitPattern ? .real(.nan) : nil
        case .array(let elements):
            return elements.rounded.map(PropertyListValue.array)
        case .dictionary(let entries):
            return entries.rounded.map(PropertyListValue.dictionary)
        default:
            return nil
        }
    }
}

extension [PropertyListValue] {
    fileprivate var rounded: [PropertyListValue]? {
        var changed: [PropertyListValue]?
        for (index, element) in enumerated() {
            guard let element = element.roundedForXML else { continue }
            if changed == nil { changed = self }
            changed?[index] = element
        }
        return changed
    }
}

extension [String: PropertyListValue] {
    fileprivate var rounded: [String: PropertyListValue]? {
        var changed: [String: PropertyListValue]?
        for (key, element) in self {
            guard let element = element.roundedForXML else { continue }
            if changed == nil { changed = self }
            changed?[key] = element
        }
        return changed
    }
}
