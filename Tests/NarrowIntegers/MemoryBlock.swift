package import FoundationSubset

/// Stands in for the block of the library, which maps memory.
package struct MemoryBlock: ~Copyable {
    static let smallestMapping = Int.max
    package private(set) var start: UnsafeMutableRawPointer
    package private(set) var size: Int

    package init(size: Int) {
        self.size = size
        start = malloc(size)
    }

    deinit {
        free(start)
    }

    mutating func resize(to newSize: Int) {
        start = realloc(start, newSize)
        size = newSize
    }

    package consuming func data(count: Int) -> Data {
        Data(bytes: start, count: count)
    }
}
