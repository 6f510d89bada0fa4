import FoundationSubset
import ObservableStorage
import PropertyListCoding

// The encoding of an entry's value in etcd, a binary property list.
extension PropertyListValue {
    /// The bytes of the value; equal values have equal bytes.
    ///
    /// - Throws: `StorageError.unencodable` if a property list cannot represent it.
    func etcdBytes(for key: String) throws(StorageError) -> [UInt8] {
        do throws(PropertyListError) {
            return Array(try encoded(as: .binary))
        } catch {
            throw .unencodable(key: key, reason: error.description)
        }
    }

    /// Decodes a value, also from XML, which a person may have written.
    init(etcd bytes: [UInt8]) throws(PropertyListError) {
        self = try bytes.withUnsafeBytes { buffer in
            Result { () throws(PropertyListError) in try PropertyListValue.decode(buffer).value }
        }.get()
    }

    /// Decodes a value, or is the bytes as data if they are not a property list.
    init(leniently bytes: [UInt8]) {
        do throws(PropertyListError) {
            try self.init(etcd: bytes)
        } catch {
            self = .data(Data(bytes))
        }
    }
}
