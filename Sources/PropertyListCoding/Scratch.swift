/// Memory for several lists, in one piece.
///
/// Large pieces are given back to the system one by one and zeroed when it gives them out again, which takes longer than to use them.
final class Scratch {
    private let start: UnsafeMutableRawPointer
    private let size: Int
    private var used = 0

    init(size: Int) {
        self.size = size
        start = .allocate(byteCount: size, alignment: 16)
    }

    deinit {
        start.deallocate()
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
