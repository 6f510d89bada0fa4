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
        let front = try comparison.countOfSame(old.key(0), as: new.key(0), count: fewest)
        let back = try comparison.countOfSame(old.key(old.count - 1), as: new.key(new.count - 1), count: fewest - front, step: -1)
        var changed: [Int] = []
        for (range, moved) in [(0..<front, 0), (new.count - back..<new.count, old.count - new.count)] {
            var position = range.lowerBound
            while position < range.upperBound {
                position += try comparison.countOfSame(
                    old.value(position + moved), as: new.value(position), count: range.upperBound - position)
                if position < range.upperBound { changed.append(position) }
                position += 1
            }
        }
        var units = comparison.units
        var changes: [String: PropertyListValue?] = [:]
        for position in changed {
            let key = try key(reference(new.key(position)))
            let node = try value(of: reference(new.value(position)), inside: 1)
            units = units.saturatingSum(node.units)
            if entries(key) != node.value { changes[key] = .some(node.value) }
        }
        for position in front..<old.count - back {
            changes[try earlier.key(earlier.reference(old.key(position)))] = .some(nil)
        }
        for position in front..<new.count - back {
            let key = try key(reference(new.key(position)))
            let node = try value(of: reference(new.value(position)), inside: 1)
            units = units.saturatingSum(node.units).saturatingSum(Bounds.units(ofLeaf: key.utf8.count))
            // Entries in another order, or a key that stands twice or with other bytes: comparing does not tell.
            guard entries(key) == nil, changes[key] == nil else { return nil }
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
}
