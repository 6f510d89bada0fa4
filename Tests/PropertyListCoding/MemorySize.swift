import Foundation
import Testing

/// The size of the block of memory at an address, as the allocator knows it.
func memorySize(of start: UnsafeRawPointer?) throws -> Int {
    let program = dlopen(nil, RTLD_NOW)
    // Linux has one of them and Apple's systems the other.
    let function = dlsym(program, "malloc_usable_size") ?? dlsym(program, "malloc_size")
    return unsafeBitCast(try #require(function), to: (@convention(c) (UnsafeRawPointer?) -> Int).self)(start)
}
