import FoundationSubset
import PropertyListCoding

/// The encoding of an entry's value in etcd, a binary property list.
enum EntryValue {
    /// The reason why a value cannot be encoded or decoded.
    struct Failure: Error, Sendable, Hashable, CustomStringConvertible {
        /// The name of the entry.
        let key: String
        /// The reason, as a phrase that may follow a colon.
        let reason: String

        /// The reason with the name.
        var description: String { "key \"\(key)\": \(reason)" }
    }

    /// Encodes a value; equal values have equal bytes.
    ///
    /// - Throws: ``Failure`` if a property list cannot represent it.
    static func encode(_ value: PropertyListValue, for key: String) throws(Failure) -> [UInt8] {
        do throws(PropertyListError) {
            return Array(try value.encoded(as: .binary))
        } catch {
            throw Failure(key: key, reason: error.description)
        }
    }

    /// Decodes a value, also from XML, which a person may have written.
    ///
    /// - Throws: ``Failure`` if the bytes are not a property list.
    static func decode(_ bytes: [UInt8], for key: String) throws(Failure) -> PropertyListValue {
        do throws(PropertyListError) {
            return try bytes.withUnsafeBytes { buffer in
                Result { () throws(PropertyListError) in try PropertyListValue.decode(buffer).value }
            }.get()
        } catch {
            throw Failure(key: key, reason: "not a property list: \(error)")
        }
    }

    /// Decodes a value, or returns the bytes as data if they are not a property list.
    static func decodeLeniently(_ bytes: [UInt8], for key: String) -> PropertyListValue {
        do throws(Failure) {
            return try decode(bytes, for: key)
        } catch {
            return .data(Data(bytes))
        }
    }
}
