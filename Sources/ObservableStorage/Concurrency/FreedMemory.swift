import Dispatch
import FoundationSubset
import Synchronization

/// Memory that large lists have used, and that the allocator keeps for later after it was freed.
///
/// The GNU C library returns only the ends of its arenas to the system: after a list of 28 MB was edited, each of its threads keeps tens of
/// megabytes.
enum FreedMemory {
    /// The size of a list from which memory is worth the time: smaller ones are written more often, and leave less.
    static let smallestList = 8 << 20
    // The store whose file is released now frees its entries a moment later.
    private static let delay = DispatchTimeInterval.seconds(1)
    private static let isScheduled = Atomic(false)

    /// Returns freed memory to the system in a second, if a list that was written or released is a large one.
    static func returnSoon(afterListOf size: Int) {
        guard size >= smallestList, let trim, !isScheduled.exchange(true, ordering: .relaxed) else { return }
        DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + delay) {
            isScheduled.store(false, ordering: .relaxed)
            // Locks an arena for as long as its pages are returned: 8 ms for 80 MB.
            _ = trim(0)
        }
    }
}

private typealias Trim = @convention(c) (_ keptAtEnd: Int) -> CInt

#if os(Linux)
    /// `malloc_trim`, which only the GNU C library has, and its Swift module lacks.
    private let trim = dlsym(nil, "malloc_trim").map { unsafeBitCast($0, to: Trim.self) }
#else
    /// Other allocators return memory by themselves.
    private let trim: Trim? = nil
#endif
