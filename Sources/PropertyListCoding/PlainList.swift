/// Numbers and the like side by side.
///
/// An array looks for uniqueness and goes through more code at each of them; whoever owns this is the only one.
struct PlainList<Element: BitwiseCopyable>: ~Copyable {
    private(set) var count = 0
    private var capacity = 0
    private var start: UnsafeMutablePointer<Element>
    /// What the memory belongs to, if it is not the list's own.
    private var scratch: Scratch?

    init() {
        start = .allocate(capacity: 0)
    }

    /// A list with room for so many elements in the scratch memory; for more it takes memory of its own.
    init(capacity: Int, in scratch: Scratch) {
        self.capacity = capacity
        self.scratch = scratch
        start = scratch.room(for: capacity, of: Element.self)
    }

    deinit {
        if scratch == nil { start.deallocate() }
    }

    @inline(__always)
    subscript(index: Int) -> Element {
        get {
            precondition(index >= 0 && index < count)
            return start[index]
        }
        set {
            precondition(index >= 0 && index < count)
            start[index] = newValue
        }
    }

    /// The elements, until there are more or fewer.
    var elements: UnsafeMutableBufferPointer<Element> {
        UnsafeMutableBufferPointer(start: start, count: count)
    }

    @inline(__always)
    mutating func append(_ element: Element) {
        reserve(1)
        start[count] = element
        count += 1
    }

    mutating func append(repeating element: Element, count more: Int) {
        reserve(more)
        (start + count).update(repeating: element, count: more)
        count += more
    }

    mutating func removeAll() {
        count = 0
    }

    /// Makes room for so many more elements.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if capacity - count < more { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        capacity = max(capacity * 2, count + more, 16)
        let larger = UnsafeMutablePointer<Element>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        if scratch == nil { start.deallocate() }
        (start, scratch) = (larger, nil)
    }
}
