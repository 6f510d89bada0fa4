import Synchronization

/// Numbers that are unique in the process, each greater than all before it; never 0.
enum UniqueNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}

/// A weak reference to an object.
struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Sendable even if the object is not: then the reference only shows whether the object exists, and an object without other references
    // may be released on any thread.

    private(set) weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}
