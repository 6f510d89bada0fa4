import Foundation
import Testing

/// The size of the memory block at an address, according to the allocator.
func memorySize(of start: UnsafeRawPointer?) throws -> Int {
    let program = dlopen(nil, RTLD_NOW)
    // One is for Linux and the other for Apple's systems.
    let function = dlsym(program, "malloc_usable_size") ?? dlsym(program, "malloc_size")
    return unsafeBitCast(try #require(function), to: (@convention(c) (UnsafeRawPointer?) -> Int).self)(start)
}
