public import Foundation

extension PropertyListValue {
    /// Reads a binary or an XML property list, whichever the bytes are.
    ///
    /// Takes time and memory linear in the input, whatever the bytes are.
    ///
    /// - Throws: ``PropertyListError`` with the offset and the reason.
    public static func decode(_ data: Data) throws(PropertyListError) -> (value: PropertyListValue, format: PropertyListFormat) {
        throw PropertyListError(offset: 0, reason: "not yet")
    }

    /// Writes the value as a property list.
    ///
    /// - Throws: ``PropertyListError`` when the format cannot hold the value.
    public func encoded(as format: PropertyListFormat) throws(PropertyListError) -> Data {
        throw PropertyListError(offset: nil, reason: "not yet")
    }
}
