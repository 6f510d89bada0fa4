/// Puts keys in the order of their UTF-8, which is what makes the written bytes always the same.
///
/// It is made once for a property list and used for one dictionary after the other, so that small ones take no memory of their own.
struct KeyOrder: ~Copyable {
    /// The keys' bytes side by side, which compare faster than strings do.
    private var text = ByteSink()
    /// Where each key begins in the text, and at last where the text ends.
    private var starts = [0]
    private var places: [KeyPlace] = []

    var count: Int { places.count }

    /// Adds the UTF-8 of a key.
    @inline(__always)
    mutating func append(_ key: UnsafeRawBufferPointer) {
        text.append(key)
        places.append(KeyPlace(position: places.count))
        starts.append(text.count)
    }

    /// Forgets the keys, and makes room for so many others.
    mutating func removeAll(roomFor count: Int) {
        text.removeAll(from: 0)
        text.reserve(count * 16)
        starts.removeLast(starts.count - 1)
        starts.reserveCapacity(count + 1)
        places.removeAll(keepingCapacity: true)
        places.reserveCapacity(count)
    }

    /// Which of the keys, counted as they were added, comes at a position once they are sorted.
    subscript(position: Int) -> Int {
        places[position].position
    }

    /// Sorts the keys.
    mutating func sort() {
        let text = text.bytes
        places.withUnsafeMutableBufferPointer { places in
            starts.withUnsafeBufferPointer { starts in
                Keys(text: text, starts: starts).sort(places)
            }
        }
    }
}

private struct KeyPlace {
    let position: Int
    /// The 8 bytes behind what some keys begin with: they decide nearly every comparison.
    var front: UInt64 = 0
}

/// The keys' bytes while they are sorted.
private struct Keys {
    let text: UnsafeRawBufferPointer
    let starts: UnsafeBufferPointer<Int>

    // Below, and deeper, keys are compared one by one.
    private static let fewestToDistribute = 64
    private static let deepest = 8

    /// Sorts keys by the bytes behind what all of them begin with.
    func sort(_ places: UnsafeMutableBufferPointer<KeyPlace>, depth: Int = 0) {
        readFronts(of: places)
        guard places.count > Self.fewestToDistribute, depth < Self.deepest else {
            var places = places
            return places.sort { stands($0, before: $1) }
        }
        places.sortByFront()
        // Those that are still together have more in common than all of them: behind that they are told apart.
        var start = 0
        while start < places.count {
            var end = start + 1
            while end < places.count, places[end].front == places[start].front { end += 1 }
            if end - start > 1 { sort(UnsafeMutableBufferPointer(rebasing: places[start..<end]), depth: depth + 1) }
            start = end
        }
    }

    private func range(_ place: KeyPlace) -> Range<Int> {
        starts[place.position]..<starts[place.position + 1]
    }

    private func stands(_ place: KeyPlace, before other: KeyPlace) -> Bool {
        if place.front != other.front { return place.front < other.front }
        return text[range(place)].lexicographicallyPrecedes(text[range(other)])
    }

    /// Reads the fronts behind what all of the keys begin with.
    private func readFronts(of places: UnsafeMutableBufferPointer<KeyPlace>) {
        guard let first = places.first else { return }
        let start = text[range(first)]
        var shared = start.count
        for place in places {
            let key = range(place)
            shared = min(shared, key.count)
            var size = 0
            while size < shared, text[start.startIndex + size] == text[key.lowerBound + size] { size += 1 }
            shared = size
        }
        for index in places.indices {
            let key = range(places[index])
            places[index].front = word(key.lowerBound + shared..<key.upperBound)
        }
    }

    /// The first 8 bytes of a range as a number, the first highest, and zeros where there are fewer.
    private func word(_ range: Range<Int>) -> UInt64 {
        guard range.count < 8 else {
            return UInt64(bigEndian: text.loadUnaligned(fromByteOffset: range.lowerBound, as: UInt64.self))
        }
        return text[range].reduce(0) { $0 << 8 | UInt64($1) } << UInt64(64 - 8 * range.count)
    }
}

extension UnsafeMutableBufferPointer<KeyPlace> {
    /// Sorts byte by byte from the last on: where there are many, comparing takes several times as long.
    fileprivate func sortByFront() {
        var places = self
        let differences = reduce(0) { $0 | $1.front ^ self[0].front }
        withUnsafeTemporaryAllocation(of: KeyPlace.self, capacity: count) { spare in
            var spare = spare
            for shift in stride(from: UInt64(0), to: 64, by: 8) where differences >> shift & 0xFF != 0 {
                var starts = [Int](repeating: 0, count: 257)
                for place in places { starts[Int(place.front >> shift & 0xFF) + 1] += 1 }
                for byte in 1..<256 { starts[byte] += starts[byte - 1] }
                for place in places {
                    let byte = Int(place.front >> shift & 0xFF)
                    spare[starts[byte]] = place
                    starts[byte] += 1
                }
                swap(&places, &spare)
            }
            if places.baseAddress != baseAddress { _ = update(from: places) }
        }
    }
}
