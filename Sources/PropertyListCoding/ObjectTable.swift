/// Finds the leaf that was written already with the same bytes, so that it is written once.
///
/// The table holds places in the output and no copies. A leaf's bytes say where it ends, so equal beginnings are equal leaves.
struct ObjectTable: ~Copyable {
    struct Slot: BitwiseCopyable {
        /// Part of the hash, so that few bytes are compared and a larger table needs none of them.
        var hash: UInt32 = 0
        /// The object's number, counted from 1; 0 is a free slot.
        var object: UInt32 = 0
    }

    private var slots: PlainList<Slot>
    private var count = 0

    /// A table in the scratch memory that need not grow for so many leaves.
    init(capacity: Int, in scratch: Scratch) {
        let size = Self.slots(for: capacity)
        slots = PlainList(capacity: size, in: scratch)
        slots.append(repeating: Slot(), count: size)
    }

    static func scratchSize(for count: Int) -> Int {
        Scratch.size(of: Slot.self, count: slots(for: count))
    }

    private static func slots(for capacity: Int) -> Int {
        var size = 256
        while size * 3 < capacity * 4 { size *= 2 }
        return size
    }

    /// The object with these bytes, which have this hash, or nothing after noting that `object` has them.
    @inline(__always)
    mutating func find(
        _ bytes: UnsafeRawBufferPointer, hash: UInt32, in output: UnsafeRawBufferPointer, offsets: borrowing PlainList<Int>,
        orAdd object: Int
    ) -> Int? {
        if count * 4 >= slots.count * 3 { grow() }
        var place = Int(hash) & (slots.count - 1)
        while true {
            let slot = slots[place]
            guard slot.object != 0 else { break }
            if slot.hash == hash {
                let known = Int(slot.object) - 1
                if bytes.isRepeated(in: output, at: offsets[known]) { return known }
            }
            place = (place + 1) & (slots.count - 1)
        }
        slots[place] = Slot(hash: hash, object: UInt32(object + 1))
        count += 1
        return nil
    }

    /// Reads where a hash is looked for first.
    @inline(__always)
    func fetch(_ hash: UInt32) -> UInt32 {
        slots[Int(hash) & (slots.count - 1)].object
    }

    @inline(never)
    private mutating func grow() {
        var larger = PlainList<Slot>()
        larger.append(repeating: Slot(), count: slots.count * 2)
        for slot in slots.elements where slot.object != 0 {
            var place = Int(slot.hash) & (larger.count - 1)
            while larger[place].object != 0 { place = (place + 1) & (larger.count - 1) }
            larger[place] = slot
        }
        slots = larger
    }
}
