import Foundation
import Synchronization

/// The open lock files of this process, which a forked child closes before it does anything else.
///
/// A lock belongs to the open file, which a child shares: without that, a child that does not start another program would keep the locks that
/// its parent held when it was forked, also when the parent is dead. A child that starts another program closes them then.
enum LockDescriptors {
    private static let capacity = 256
    private static let none: Int32 = -1

    // A forked child may neither allocate nor wait for a lock: so these are atomics at a fixed address, never freed, used by any thread at any time.
    nonisolated(unsafe) private static let places: UnsafeMutablePointer<Atomic<Int32>> = {
        let places = UnsafeMutablePointer<Atomic<Int32>>.allocate(capacity: capacity)
        for index in 0..<capacity { (places + index).initialize(to: Atomic(none)) }
        pthread_atfork(nil, nil) { LockDescriptors.closeInChild() }
        return places
    }()

    private static let forkCount = Atomic<Int>(0)

    /// How often this process's ancestors were forked since they had lock files open: what was opened before is closed.
    static var forks: Int {
        forkCount.load(ordering: .relaxed)
    }

    /// Has a descriptor closed by children. One beyond the capacity is not, as if there were no such list.
    static func add(_ descriptor: Int32) {
        for index in 0..<capacity
        where places[index].compareExchange(expected: none, desired: descriptor, ordering: .acquiringAndReleasing).exchanged {
            return
        }
    }

    /// Called before a descriptor is closed: its number may then be another file's.
    static func remove(_ descriptor: Int32) {
        for index in 0..<capacity
        where places[index].compareExchange(expected: descriptor, desired: none, ordering: .acquiringAndReleasing).exchanged {
            return
        }
    }

    private static func closeInChild() {
        for index in 0..<capacity {
            let descriptor = places[index].exchange(none, ordering: .acquiringAndReleasing)
            if descriptor != none { close(descriptor) }
        }
        forkCount.add(1, ordering: .relaxed)
    }
}
