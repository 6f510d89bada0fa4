extension BinaryReader {
    /// What is different from an earlier version of the property list, of which these are the entries: the value of each entry that was
    /// set, nil for one that was removed.
    ///
    /// Entries are compared as they are encoded, so that only what has changed is decoded. Nothing if that does not tell; the whole has to be
    /// read then, and so it has after an error, to know the right one.
    mutating func changes(
        since earlier: BinaryReader, of entries: (String) -> PropertyListValue?
    ) throws(PropertyListError) -> [String: PropertyListValue?]? {
        var earlier = earlier
        guard let old = try earlier.root(), let new = try root() else { return nil }
        var comparison = BinaryComparison(of: self, since: earlier)
        let fewest = min(old.count, new.count)
        let front = try comparison.countOfSame(old.keys, 0, as: new.keys, 0, count: fewest)
        let back = try comparison.countOfSame(old.keys, old.count - 1, as: new.keys, new.count - 1, count: fewest - front, step: -1)
        var changed: [Int] = []
        for (range, moved) in [(0..<front, 0), (new.count - back..<new.count, old.count - new.count)] {
            var position = range.lowerBound
            while position < range.upperBound {
                position += try comparison.countOfSame(
                    old.values, position + moved, as: new.values, position, count: range.upperBound - position)
                if position < range.upperBound { changed.append(position) }
                position += 1
            }
        }
        var units = comparison.units
        var changes: [String: PropertyListValue?] = [:]
        for position in changed {
            let key = try key(reference(position, in: new.keys))
            let node = try value(of: reference(position, in: new.values), inside: 1)
            units = units.saturatingSum(node.units)
            if entries(key) != node.value { changes[key] = .some(node.value) }
        }
        for position in front..<old.count - back {
            changes[try earlier.key(earlier.reference(position, in: old.keys))] = .some(nil)
        }
        for position in front..<new.count - back {
            let key = try key(reference(position, in: new.keys))
            let node = try value(of: reference(position, in: new.values), inside: 1)
            units = units.saturatingSum(node.units).saturatingSum(Bounds.units(ofLeaf: key.utf8.count))
            // Entries in another order, or a key that stands twice or with other bytes: comparing does not tell.
            guard entries(key) == nil, changes[key] == nil else { return nil }
            changes[key] = .some(node.value)
        }
        return units <= limit ? changes : nil
    }

    /// The references of a dictionary.
    private struct Root {
        let keys: NumberRow
        let values: NumberRow

        var count: Int { keys.count }
    }

    /// The root, if it is a dictionary.
    private func root() throws(PropertyListError) -> Root? {
        let offset = try place(of: trailer.root)
        guard bytes[offset] >> 4 == 0xD else { return nil }
        let (count, start) = try payload(at: offset, width: trailer.referenceSize * 2)
        return Root(keys: references(at: start, count: count), values: references(at: start + count * trailer.referenceSize, count: count))
    }
}
