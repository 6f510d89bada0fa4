import FoundationSubset
import PropertyListCoding

/// How the value of an entry is kept in etcd: as a binary property list.
enum EntryValue {
    /// The reason why a value cannot be kept, or cannot be read.
    struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name of the entry.
        let key: String
        /// The reason, as a phrase that may follow a colon.
        let reason: String

        /// The reason with the name.
        var description: String { "key \"\(key)\": \(reason)" }
    }

    /// Writes a value; equal values are written as the same bytes.
    ///
    /// - Throws: ``Failure`` if a property list cannot represent it.
    static func encode(_ value: PropertyListValue, for key: String) throws(Failure) -> [UInt8] {
        do throws(PropertyListError) {
            return Array(try value.encoded(as: .binary))
        } catch {
            throw Failure(key: key, reason: error.description)
        }
    }

    /// Reads a value; one in XML, as a person may have put it, is read as well.
    ///
    /// - Throws: ``Failure`` if the bytes are no property list.
    static func decode(_ bytes: [UInt8], for key: String) throws(Failure) -> PropertyListValue {
        do throws(PropertyListError) {
            return try bytes.withUnsafeBytes { buffer in
                Result { () throws(PropertyListError) in try PropertyListValue.decode(buffer).value }
            }.get()
        } catch {
            throw Failure(key: key, reason: "not a property list: \(error)")
        }
    }

    /// Reads a value, or the bytes as data if they are not a property list.
    static func decodeLeniently(_ bytes: [UInt8], for key: String) -> PropertyListValue {
        do throws(Failure) {
            return try decode(bytes, for: key)
        } catch {
            return .data(Data(bytes))
        }
    }
}
