import Synchronization

/// Numbers of which the process has each one once, greater than all before it; never 0.
enum UniqueNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}

/// An object that is not kept.
struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Sendable even if the object is not: only whether it is there is asked then, and an object without other references may be released
    // on any thread.

    private(set) weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}
