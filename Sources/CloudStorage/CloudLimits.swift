import FoundationSubset
import PropertyListCoding

/// The limits of iCloud's key-value store, checked before a value is passed to it.
///
/// Apple's documentation of `NSUbiquitousKeyValueStoreQuotaViolationChange` has the numbers and the sizes; a name that is too long raises an
/// exception (MugunthKumar/MKiCloudSync#13). How the system measures a value is not documented; here it is the size as a binary property
/// list, and a megabyte is 1,000,000 bytes.
enum CloudLimits {
    static let keys = 1024
    static let totalBytes = 1_000_000
    static let valueBytes = 1_000_000
    static let nameBytes = 64

    /// The reason why no value can be stored under a name; nil if one can.
    static func obstacle(to name: String) -> String? {
        guard name.utf8.count > nameBytes else { return nil }
        return "its name has \(name.utf8.count) bytes, and iCloud allows \(nameBytes)"
    }

    /// The reason why an entry cannot be stored beside the present ones, of which the sizes are given by name; nil if it can.
    static func obstacle(to entry: PropertyListValue, named name: String, beside sizes: [String: Int]) -> String? {
        if let obstacle = obstacle(to: name) { return obstacle }
        guard !entry.containsUID, let size = size(of: entry, named: name) else { return "iCloud cannot store a value of this type" }
        if size > valueBytes { return "it takes \(size) bytes, and iCloud allows \(valueBytes) for a value" }
        if sizes[name] == nil, sizes.count >= keys { return "iCloud already has \(sizes.count) keys, and allows \(keys)" }
        let total = sizes.values.reduce(0, +) - (sizes[name] ?? 0) + size
        // What makes room is allowed even if it does not suffice.
        guard total > totalBytes, size >= sizes[name] ?? 0 else { return nil }
        return "all values would take \(total) bytes, and iCloud allows \(totalBytes)"
    }

    /// The number of bytes of an entry with its name; nil if a property list cannot represent it.
    static func size(of entry: PropertyListValue, named name: String) -> Int? {
        bytes(of: entry).map { $0.count + name.utf8.count }
    }

    /// The bytes of a value, which are equal for equal values; nil if a property list cannot represent it.
    static func bytes(of value: PropertyListValue) -> Data? {
        do {
            return try value.encoded(as: .binary)
        } catch {
            return nil
        }
    }
}

extension PropertyListValue {
    fileprivate var containsUID: Bool {
        switch self {
        case .uid: true
        case .array(let elements): elements.contains { $0.containsUID }
        case .dictionary(let entries): entries.values.contains { $0.containsUID }
        default: false
        }
    }
}
