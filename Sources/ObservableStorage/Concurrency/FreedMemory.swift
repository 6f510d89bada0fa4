import Dispatch
import FoundationSubset
import Synchronization

/// The size of a list from which its memory is worth the time to give it back: smaller ones are written more often, and leave less.
let largeListSize = 8 << 20
private let isScheduled = Atomic(false)

/// Returns freed memory to the system in a second, if a list that was written or released is a large one.
///
/// The allocator keeps it for later: the GNU C library returns only the ends of its arenas, and after a list of 28 MB was edited, each of its
/// threads keeps tens of megabytes.
func returnFreedMemory(afterListOf size: Int) {
    guard size >= largeListSize, let trim, !isScheduled.exchange(true, ordering: .relaxed) else { return }
    // The store whose file is released now frees its entries a moment later.
    DispatchQueue.global(qos: .utility).asyncAfter(deadline: .now() + .seconds(1)) {
        isScheduled.store(false, ordering: .relaxed)
        // Locks an arena for as long as its pages are returned: 8 ms for 80 MB.
        _ = trim(0)
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
