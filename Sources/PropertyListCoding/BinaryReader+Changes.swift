extension BinaryReader {
    /// What is different from an earlier version of the property list, of which these are the entries: the value of each entry that was
    /// set, nil for one that was removed.
    ///
    /// Entries are compared as they are encoded, so that only containers are decoded, and what has changed. Nothing if that does not
    /// tell; the whole has to be read then, and so it has after an error, to know the right one.
    mutating func changes(
        since earlier: BinaryReader, of entries: [String: PropertyListValue]
    ) throws(PropertyListError) -> [String: PropertyListValue?]? {
        var earlier = earlier
        guard let old = try earlier.root(), let new = try root() else { return nil }
        var units = 1
        let fewest = min(old.count, new.count)
        var front = 0
        while front < fewest, let size = try sizeOfSame(old.key(front), of: earlier, as: new.key(front)) {
            units = units.saturatingSum(Bounds.units(ofLeaf: size))
            front += 1
        }
        var back = 0
        while back < fewest - front {
            let (oldKey, newKey) = (old.key(old.count - 1 - back), new.key(new.count - 1 - back))
            guard let size = try sizeOfSame(oldKey, of: earlier, as: newKey) else { break }
            units = units.saturatingSum(Bounds.units(ofLeaf: size))
            back += 1
        }
        var changes: [String: PropertyListValue?] = [:]
        for position in 0..<front + back {
            let oldPosition = position < front ? position : position - front + old.count - back
            let newPosition = position < front ? position : position - front + new.count - back
            if let size = try sizeOfSame(old.value(oldPosition), of: earlier, as: new.value(newPosition)) {
                units = units.saturatingSum(Bounds.units(ofLeaf: size))
            } else {
                let key = try key(reference(new.key(newPosition)))
                let node = try value(of: reference(new.value(newPosition)), inside: 1)
                units = units.saturatingSum(node.units)
                if entries[key] != node.value { changes[key] = .some(node.value) }
            }
        }
        for position in front..<old.count - back {
            changes[try earlier.key(earlier.reference(old.key(position)))] = .some(nil)
        }
        for position in front..<new.count - back {
            let key = try key(reference(new.key(position)))
            let node = try value(of: reference(new.value(position)), inside: 1)
            units = units.saturatingSum(node.units).saturatingSum(Bounds.units(ofLeaf: key.utf8.count))
            // Entries in another order, or a key that stands twice or with other bytes: comparing does not tell.
            guard entries[key] == nil, changes[key] == nil else { return nil }
            changes[key] = .some(node.value)
        }
        return units <= limit ? changes : nil
    }

    /// Where the references of a dictionary stand.
    private struct Root {
        let count: Int
        let references: Int
        let width: Int

        func key(_ position: Int) -> Int { references + position * width }
        func value(_ position: Int) -> Int { references + (count + position) * width }
    }

    /// The root, if it is a dictionary.
    private func root() throws(PropertyListError) -> Root? {
        let offset = try place(of: trailer.root)
        guard bytes[offset] >> 4 == 0xD else { return nil }
        let (count, references) = try payload(at: offset, width: trailer.referenceSize * 2)
        return Root(count: count, references: references, width: trailer.referenceSize)
    }

    /// How many bytes two leaves take at most as values, if they are the same; nothing if they differ or are containers.
    private func sizeOfSame(_ old: Int, of earlier: BinaryReader, as new: Int) throws(PropertyListError) -> Int? {
        guard let leaf = try encodedLeaf(reference(new)), let other = try earlier.encodedLeaf(earlier.reference(old)) else { return nil }
        // UTF-16 grows by half when it becomes UTF-8.
        return leaf.count == other.count && leaf.isRepeated(in: other, at: 0) ? leaf.count * 2 : nil
    }

    /// The bytes that say what a leaf is; nothing for a container.
    private func encodedLeaf(_ object: Int) throws(PropertyListError) -> UnsafeRawBufferPointer? {
        let offset = try place(of: object)
        let end: Int
        switch bytes[offset] >> 4 {
        case 0: end = offset + 1
        case 1, 2, 3: end = offset + 1 + 1 << Int(bytes[offset] & 0xF)
        case 4, 5:
            let (count, start) = try payload(at: offset, width: 1)
            end = start + count
        case 6:
            let (count, start) = try payload(at: offset, width: 2)
            end = start + count * 2
        case 8: end = offset + 2 + Int(bytes[offset] & 0xF)
        default: return nil
        }
        return end <= trailer.table ? bytes[offset..<end] : nil
    }
}
