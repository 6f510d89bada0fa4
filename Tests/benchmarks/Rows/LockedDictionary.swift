import Synchronization

/// The baseline for thread-safe typed values by key: a dictionary of an enumeration protected by a lock.
final class LockedDictionary: Sendable {
    enum Value: Sendable {
        case integer(Int)
        case real(Double)
        case text(String)
        case bytes([UInt8])
    }

    private let values: Mutex<[String: Value]>

    /// Starts with as many entries as the store in the comparison.
    init(_ count: Int) {
        values = Mutex(Dictionary(uniqueKeysWithValues: (0..<count).map { (SampleList.name($0), .integer($0)) }))
    }

    func integer(_ key: String) -> Int {
        guard case .integer(let value) = values.withLock({ $0[key] }) else { return 0 }
        return value
    }

    func set(_ value: Int, for key: String) {
        values.withLock { $0[key] = .integer(value) }
    }
}
