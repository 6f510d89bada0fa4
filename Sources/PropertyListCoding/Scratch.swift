import Synchronization

/// Memory for several lists, in one piece.
///
/// Large pieces are given back to the system one by one and zeroed when it gives them out again, which takes longer than to use them.
/// So one piece of an ordinary size is kept for the next time.
final class Scratch {
    // Enough for some 1,500 entries.
    private static let keptSize = 256 * 1024
    // Its address; 0 if it is in use.
    private static let kept = Atomic<UInt>(0)

    private let start: UnsafeMutableRawPointer
    private let size: Int
    private var used = 0

    init(size: Int) {
        self.size = max(size, Self.keptSize)
        if size <= Self.keptSize, let kept = UnsafeMutableRawPointer(bitPattern: Self.kept.exchange(0, ordering: .acquiring)) {
            start = kept
        } else {
            start = .allocate(byteCount: self.size, alignment: 16)
        }
    }

    deinit {
        if size > Self.keptSize || !keep() { start.deallocate() }
    }

    private func keep() -> Bool {
        Self.kept.compareExchange(expected: 0, desired: UInt(bitPattern: start), ordering: .releasing).exchanged
    }

    /// Memory for so many elements, which is there as long as this is.
    func room<Element: BitwiseCopyable>(for count: Int, of type: Element.Type) -> UnsafeMutablePointer<Element> {
        let bytes = Self.size(of: type, count: count)
        precondition(bytes <= size - used)
        defer { used += bytes }
        return (start + used).bindMemory(to: type, capacity: count)
    }

    /// How much of this so many elements take.
    static func size<Element: BitwiseCopyable>(of type: Element.Type, count: Int) -> Int {
        (count * MemoryLayout<Element>.stride + 15) & ~15
    }
}
