import Foundation

/// Limits how many tests run at once, unless the environment says otherwise: Swift Testing begins all of them together, and each of their
/// steps then waits for its turn among thousands (357 s instead of 117 on two cores), for which no deadline is long enough.
///
/// The loader calls this before `main`: `swift test` has an option for it, which everybody would have to know.
#if os(Linux)
    @section(".init_array")
#else
    @section("__DATA,__mod_init_func")
#endif
@used private let limitParallelTests: @convention(c) () -> Void = {
    setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "6", 0)
}
