package import FoundationSubset

/// A block of memory; a large one is a separate mapping, which is returned to the system when it is released.
///
/// An allocator keeps released blocks in an arena for each thread, and each commit may run on another thread: a store of 28 MB would keep
/// several times that in each arena.
package struct MemoryBlock: ~Copyable {
    package private(set) var start: UnsafeMutableRawPointer
    package private(set) var size: Int

    // The system clears the pages of a mapping on first use: with 1 MB, binary.write takes 1.8 times as long.
    static let smallestMapping = 4 << 20

    package init(size: Int) {
        self.size = max(size, 1)
        start = Self.allocate(self.size)
    }

    deinit {
        Self.release(start, size)
    }

    /// Changes the size, and keeps the bytes that fit.
    mutating func resize(to newSize: Int) {
        let newSize = max(newSize, 1)
        guard newSize != size else { return }
        if Self.isMapped(size) || Self.isMapped(newSize) {
            let moved = Self.allocate(newSize)
            moved.copyMemory(from: start, byteCount: min(size, newSize))
            Self.release(start, size)
            start = moved
        } else {
            guard let moved = realloc(start, newSize) else { fatalError("there is no memory for \(newSize) bytes") }
            start = moved
        }
        size = newSize
    }

    /// Turns the first bytes of the block into data without a copy.
    package consuming func data(count: Int) -> Data {
        precondition(count >= 0 && count <= size)
        let (start, size) = (start, size)
        discard self
        guard Self.isMapped(size) else { return Data(bytesNoCopy: start, count: count, deallocator: .free) }
        return Data(bytesNoCopy: start, count: count, deallocator: .custom { start, _ in Self.release(start, size) })
    }
}

extension MemoryBlock {
    private static func isMapped(_ size: Int) -> Bool { size >= smallestMapping }

    private static func allocate(_ size: Int) -> UnsafeMutableRawPointer {
        if isMapped(size) {
            let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0)
            if let start, start != MAP_FAILED {
                preferLargePages(start, size: size)
                return start
            }
        } else if let start = malloc(size) {
            return start
        }
        fatalError("there is no memory for \(size) bytes")
    }

    private static func release(_ start: UnsafeMutableRawPointer, _ size: Int) {
        if isMapped(size) { munmap(start, size) } else { free(start) }
    }
}

#if canImport(Darwin)
    /// Does nothing: pages are cleared quickly.
    private func preferLargePages(_ start: UnsafeMutableRawPointer, size: Int) {}
#else
    /// Asks for pages of 2 MB. With those of 4 KB, encoding 100,000 entries takes 1.3 times as long.
    private func preferLargePages(_ start: UnsafeMutableRawPointer, size: Int) {
        madvise(start, size, MADV_HUGEPAGE)
    }
#endif
