import Synchronization

private let lastNumber = Atomic<UInt64>(0)

/// A number that is unique in the process: greater than all before it, and never 0.
func uniqueNumber() -> UInt64 {
    lastNumber.add(1, ordering: .relaxed).newValue
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
