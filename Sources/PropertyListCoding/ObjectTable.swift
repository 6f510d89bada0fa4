/// Finds the leaf that was written already with the same bytes, so that it is written once.
///
/// The table holds places in the output and no copies. A leaf's bytes say where it ends, so equal beginnings are equal leaves.
struct ObjectTable {
    private struct Slot {
        /// Part of the hash, so that few bytes are compared and a larger table needs none of them.
        var hash: UInt32 = 0
        /// The object's number, counted from 1; 0 is a free slot.
        var object: UInt32 = 0
    }

    private var slots: [Slot]
    private var count = 0

    /// A table that need not grow for so many leaves.
    init(capacity: Int) {
        var size = 256
        while size * 3 < capacity * 4 { size *= 2 }
        slots = Array(repeating: Slot(), count: size)
    }

    /// The object with these bytes, which have this hash, or nothing after noting that `object` has them.
    @inline(__always)
    mutating func find(
        _ bytes: UnsafeRawBufferPointer, hash: UInt32, in output: UnsafeRawBufferPointer, offsets: [Int], orAdd object: Int
    ) -> Int? {
        if count * 4 >= slots.count * 3 { grow() }
        var place = Int(hash) & (slots.count - 1)
        while slots[place].object != 0 {
            if slots[place].hash == hash {
                let known = Int(slots[place].object) - 1
                if bytes.isRepeated(in: output, at: offsets[known]) { return known }
            }
            place = (place + 1) & (slots.count - 1)
        }
        slots[place] = Slot(hash: hash, object: UInt32(object + 1))
        count += 1
        return nil
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old where slot.object != 0 {
            var place = Int(slot.hash) & (slots.count - 1)
            while slots[place].object != 0 { place = (place + 1) & (slots.count - 1) }
            slots[place] = slot
        }
    }
}
