/// The keys in etcd of a store's entries and of its backend, all under one prefix.
///
/// An entry has the key "prefix/name" in UTF-8, as it is typed for `etcdctl`. Names that begin with a NUL are reserved for the backend, and
/// those with a NUL after a slash for backends whose prefixes begin with this one.
///
/// Names are not normalized. Two names that differ only in their Unicode normalization are therefore two keys in etcd, although they are
/// equal as Swift strings: code that collects entries by name has to compare the bytes of the keys as well.
struct EntryKeys: Sendable, Hashable {
    enum Meaning: Sendable, Hashable {
        /// The key of an entry, with its name in the UTF-8 of the key.
        case entry(String)
        /// A key of the backend; nil for one of a backend whose prefix begins with this one.
        case reserved(String?)
        /// Not a key of this store: it is not under the prefix, or not valid UTF-8.
        case foreign
    }

    let start: [UInt8]

    /// Creates the keys under a prefix, to which a slash is added if it does not end with one. An empty prefix means all keys of etcd.
    init(prefix: String) {
        start = Array((prefix.isEmpty || prefix.utf8.last == UInt8(ascii: "/") ? prefix : prefix + "/").utf8)
    }

    /// The first key of the range of all keys under the prefix.
    var rangeStart: [UInt8] { start.isEmpty ? [0] : start }

    /// The key after the last one under the prefix, which ends with a slash; a NUL, which means that the range has no end, for all keys.
    var rangeEnd: [UInt8] { start.isEmpty ? [0] : start.dropLast() + [UInt8(ascii: "/") + 1] }

    /// The key of an entry; nil if the name is empty, or reserved.
    func key(of name: String) -> [UInt8]? {
        name.isEmpty || Self.isReserved(name.utf8) ? nil : start + name.utf8
    }

    private static func isReserved(_ name: some Sequence<UInt8>) -> Bool {
        let slash = UInt8(ascii: "/")
        var previous = slash
        for byte in name {
            if byte == 0, previous == slash { return true }
            previous = byte
        }
        return false
    }

    func reservedKey(_ name: String) -> [UInt8] {
        start + [0] + name.utf8
    }

    func meaning(of key: [UInt8]) -> Meaning {
        guard key.count > start.count, key.starts(with: start) else { return .foreign }
        let name = key[start.count...]
        let isOwn = name.first == 0
        guard let text = String(validUTF8: isOwn ? name.dropFirst() : name) else { return .foreign }
        if isOwn { return .reserved(text) }
        return Self.isReserved(name) ? .reserved(nil) : .entry(text)
    }
}

extension EntryKeys {
    func token(_ name: String) -> [UInt8] { reservedKey("token/" + name) }

    /// The key that ``EtcdTransaction/mark()`` writes.
    func mark(_ name: String) -> [UInt8] { reservedKey("mark/" + name) }

    /// The attempt of a transaction that has written a token; nil for any other key.
    func attempt(_ keyValue: KeyValue) -> String? {
        guard case .reserved(let name?) = meaning(of: keyValue.key), name.hasPrefix("token/") else { return nil }
        return String(decoding: keyValue.value, as: UTF8.self)
    }
}

extension String {
    /// Creates a string from UTF-8; nil if it is not valid.
    init?(validUTF8 bytes: ArraySlice<UInt8>) {
        // The standard library's generic validation takes 3 ms more for the names in 10,000 keys.
        guard bytes.allSatisfy({ $0 < 0x80 }) else {
            self.init(validating: bytes, as: UTF8.self)
            return
        }
        self.init(decoding: bytes, as: UTF8.self)
    }
}
