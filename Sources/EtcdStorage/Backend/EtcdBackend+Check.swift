import ObservableStorage
import PropertyListCoding

extension EtcdBackend {
    /// Checks whether each key under the prefix is that of an entry whose value is a property list.
    ///
    /// - Returns: the number of keys, except those of the backend, and those that are not entries, or are read as data: the storage, the key
    ///   and the reason of each, in the order of the keys.
    /// - Throws: `StorageError.unreadable` with the reason why no member responds.
    package nonisolated(nonsending) func check() async throws -> (keyCount: Int, failures: [String]) {
        let snapshot = try await reading {
            try await client.snapshot(from: keys.entriesStart, to: keys.rangeEnd, pageTimeout: client.callTimeout)
        }
        let duplicates = EtcdReplica(of: snapshot, keys, named: name).failures
        var check = (keyCount: 0, failures: [String]())
        for keyValue in snapshot.keyValues {
            switch keys.meaning(of: keyValue.key) {
            case .reserved: continue
            case .foreign: check.failures.append("\(name): the key \(keyValue.key.escaped) is not valid UTF-8")
            case .entry(let entry):
                do throws(PropertyListError) {
                    _ = try PropertyListValue(etcd: keyValue.value)
                } catch {
                    check.failures.append("\(name): key \"\(entry)\": not a property list: \(error)")
                }
                if let failure = duplicates[keyValue.key] { check.failures.append("\(failure)") }
            }
            check.keyCount += 1
        }
        return check
    }
}

extension [UInt8] {
    /// The bytes as a quoted string of the shell, with those that are not printable ASCII as escapes.
    fileprivate var escaped: String {
        let text = map { byte in
            0x20..<0x7F ~= byte && byte != UInt8(ascii: "'") && byte != UInt8(ascii: "\\")
                ? String(UnicodeScalar(byte)) : "\\x" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return "$'" + text.joined() + "'"
    }
}
