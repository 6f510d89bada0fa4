import Synchronization

/// Numbers of which the process has each one once, greater than all before it; never 0.
enum UniqueNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}
