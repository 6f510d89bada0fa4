import Synchronization

/// Increasing numbers that are unique in the process; never 0.
enum UniqueNumber {
    private static let last = Atomic<UInt64>(0)

    static func next() -> UInt64 {
        last.add(1, ordering: .relaxed).newValue
    }
}

/// A boxed value, whose type is known to its creator.
typealias AnyBox = any AnyObject & Sendable

final class Box<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) {
        self.value = value
    }
}

struct WeakReference<Object: AnyObject>: @unchecked Sendable {
    // Sendable even if the object is not: it only shows whether the object exists, and may release the object on any thread.

    private(set) weak var object: Object?

    init(_ object: Object) {
        self.object = object
    }
}
