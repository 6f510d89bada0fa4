import FoundationSubset
import ObservableStorage
import PropertyListCoding

/// The encoding of an entry's value in etcd, a binary property list.
enum EntryValue {
    /// Encodes a value; equal values have equal bytes.
    ///
    /// - Throws: `StorageError.unencodable` if a property list cannot represent it.
    static func encode(_ value: PropertyListValue, for key: String) throws(StorageError) -> [UInt8] {
        do throws(PropertyListError) {
            return Array(try value.encoded(as: .binary))
        } catch {
            throw .unencodable(key: key, reason: error.description)
        }
    }

    /// Decodes a value, also from XML, which a person may have written.
    static func decode(_ bytes: [UInt8]) throws(PropertyListError) -> PropertyListValue {
        try bytes.withUnsafeBytes { buffer in
            Result { () throws(PropertyListError) in try PropertyListValue.decode(buffer).value }
        }.get()
    }

    /// Decodes a value, or returns the bytes as data if they are not a property list.
    static func decodeLeniently(_ bytes: [UInt8]) -> PropertyListValue {
        do throws(PropertyListError) {
            return try decode(bytes)
        } catch {
            return .data(Data(bytes))
        }
    }
}
