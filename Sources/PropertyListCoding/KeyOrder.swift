/// Puts keys in the order of their UTF-8, which is what makes the written bytes always the same.
///
/// It is made once for a property list and used for one dictionary after the other, so that small ones take no memory of their own.
struct KeyOrder: ~Copyable {
    private var texts: PlainList<Text>
    private var places: PlainList<Place>
    /// What is sorted is moved there and back.
    private var spare: PlainList<Place>

    /// Room for so many keys in the scratch memory.
    init(capacity: Int, in scratch: Scratch) {
        texts = PlainList(capacity: capacity, in: scratch)
        places = PlainList(capacity: capacity, in: scratch)
        spare = PlainList(capacity: capacity, in: scratch)
    }

    static func scratchSize(for count: Int) -> Int {
        Scratch.size(of: Text.self, count: count) + Scratch.size(of: Place.self, count: count) * 2
    }

    var count: Int { places.count }

    /// Adds a key whose UTF-8 stands at a place.
    @inline(__always)
    mutating func append(from start: Int, count: Int) {
        places.append(Place(position: places.count))
        texts.append(Text(start: start, count: count))
    }

    /// Forgets the keys, and makes room for so many others.
    mutating func removeAll(roomFor count: Int) {
        texts.removeAll()
        texts.reserve(count)
        places.removeAll()
        places.reserve(count)
    }

    /// Which of the keys, counted as they were added, comes at a position once they are sorted.
    @inline(__always)
    subscript(position: Int) -> Int {
        places[position].position
    }

    /// Sorts the keys, whose UTF-8 stands in these bytes.
    mutating func sort(in bytes: UnsafeRawBufferPointer) {
        spare.removeAll()
        spare.append(repeating: Place(position: 0), count: places.count)
        Keys(bytes: bytes, texts: UnsafeBufferPointer(texts.elements)).sort(places.elements, with: spare.elements)
    }
}

extension KeyOrder {
    /// Where the UTF-8 of a key stands.
    struct Text: BitwiseCopyable {
        let start: Int
        let count: Int
    }

    struct Place: BitwiseCopyable {
        let position: Int
        /// The 8 bytes behind what some keys begin with: they decide nearly every comparison.
        var front: UInt64 = 0

        @inline(__always)
        func byte(at shift: UInt64) -> Int {
            Int(truncatingIfNeeded: front &>> shift & 0xFF)
        }
    }
}

/// The keys' bytes while they are sorted.
private struct Keys {
    let bytes: UnsafeRawBufferPointer
    let texts: UnsafeBufferPointer<KeyOrder.Text>

    // Fewer, and deeper, keys are compared one by one.
    private static let fewestToDistribute = 65
    private static let deepest = 8

    /// Sorts keys by the bytes behind what all of them begin with.
    func sort(
        _ places: UnsafeMutableBufferPointer<KeyOrder.Place>, with spare: UnsafeMutableBufferPointer<KeyOrder.Place>, depth: Int = 0
    ) {
        readFronts(of: places)
        guard places.count >= Self.fewestToDistribute, depth < Self.deepest else {
            var places = places
            return places.sort { stands($0, before: $1) }
        }
        places.sortByFront(with: spare)
        // Those that are still together have more in common than all of them: behind that they are told apart.
        var start = 0
        while start < places.count {
            var end = start + 1
            while end < places.count, places[end].front == places[start].front { end += 1 }
            if end - start > 1 {
                let group = start..<end
                sort(.init(rebasing: places[group]), with: .init(rebasing: spare[group]), depth: depth + 1)
            }
            start = end
        }
    }

    private func text(_ place: KeyOrder.Place) -> UnsafeRawBufferPointer {
        let text = texts[place.position]
        precondition(text.start >= 0 && text.count >= 0 && text.count <= bytes.count - text.start)
        return UnsafeRawBufferPointer(rebasing: bytes[text.start..<text.start + text.count])
    }

    private func stands(_ place: KeyOrder.Place, before other: KeyOrder.Place) -> Bool {
        if place.front != other.front { return place.front < other.front }
        return text(place).lexicographicallyPrecedes(text(other))
    }

    /// Reads the fronts behind what all of the keys begin with.
    private func readFronts(of places: UnsafeMutableBufferPointer<KeyOrder.Place>) {
        guard let first = places.first.map(text) else { return }
        var shared = first.count
        for place in places { shared = first.sharedStart(with: text(place), atMost: shared) }
        for index in places.indices { places[index].front = text(places[index]).word(from: shared) }
    }
}

extension UnsafeRawBufferPointer {
    /// The 8 bytes from a place on as a number, the first highest, and zeros where there are fewer.
    fileprivate func word(from place: Int) -> UInt64 {
        let size = count - place
        if size >= 8 { return UInt64(bigEndian: loadUnaligned(fromByteOffset: place, as: UInt64.self)) }
        if size > 0, count >= 8 {
            return UInt64(bigEndian: loadUnaligned(fromByteOffset: count - 8, as: UInt64.self)) << UInt64(64 - 8 * size)
        }
        return self[place...].reduce(0) { $0 << 8 | UInt64($1) } << UInt64(64 - 8 * size)
    }
}

extension UnsafeMutableBufferPointer<KeyOrder.Place> {
    /// Sorts byte by byte from the last on.
    fileprivate func sortByFront(with spare: Self) {
        var (places, spare) = (self, spare)
        let first = self[0].front
        // The parentheses count: both operators have the same precedence.
        let differences = reduce(0) { $0 | ($1.front ^ first) }
        for shift in stride(from: UInt64(0), to: 64, by: 8) where differences >> shift & 0xFF != 0 {
            places.move(to: spare, byByteAt: shift)
            swap(&places, &spare)
        }
        if places.baseAddress != baseAddress { _ = update(from: places) }
    }

    /// Moves the places in the order of one byte of their fronts, and where that is the same in the order they have.
    private func move(to others: Self, byByteAt shift: UInt64) {
        withUnsafeTemporaryAllocation(of: Int.self, capacity: 256) { nexts in
            nexts.initialize(repeating: 0)
            for place in self { nexts[place.byte(at: shift)] += 1 }
            var start = 0
            for byte in nexts.indices { (nexts[byte], start) = (start, start + nexts[byte]) }
            for place in self {
                let byte = place.byte(at: shift)
                others[nexts[byte]] = place
                nexts[byte] += 1
            }
        }
    }
}
