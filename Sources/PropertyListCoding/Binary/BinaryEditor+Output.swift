import FoundationSubset

// The bytes of the edited list.
extension BinaryEditor {
    /// Copies the objects with the patches, and writes the table of their offsets.
    mutating func output() throws(PropertyListError) -> Data? {
        guard list.referenceSize == 8 || objectCount >> (8 * list.referenceSize) == 0 else { return nil }
        // Unused numbers cost an offset each, until the list is written anew.
        guard unused.count + released.count <= 16 + objectCount / 4 else { return nil }
        patches += released
        patches.append((rootOffset..<references.ends[list.root], list.root, .root))
        patches.sort { ($0.range.lowerBound, $0.object) < ($1.range.lowerBound, $1.object) }

        var output = OutputBuffer(capacity: list.bytes.count + edits.bytes.count + changes.count * 16 + 64)
        var offsets = ScratchArray(repeating: 0, count: objectCount)
        var copied: [(range: Range<Int>, shift: Int)] = []
        var next = 0
        for patch in patches {
            // Objects overlap only in what others have written.
            guard patch.range.lowerBound >= next else { return nil }
            copied.append((next..<patch.range.lowerBound, output.count - next))
            output.append(list.bytes[next..<patch.range.lowerBound])
            next = patch.range.upperBound
            if case .none = patch.content { continue }
            offsets[patch.object] = output.count
            try append(patch.content, to: &output)
        }
        copied.append((next..<list.objectsEnd, output.count - next))
        output.append(list.bytes[next..<list.objectsEnd])

        guard move(&offsets, by: copied) else { return nil }
        // A reader might refuse a list that shares so much, unless this is accepted in one of any size.
        let cost = try list.cost(of: references).saturatingSum(edits.cost(of: BinaryReferences(in: edits)))
        guard cost <= DecodingLimits.maximumCost(forInput: 0) else { return nil }
        let table = output.count
        // Readers refuse more objects than there are bytes for, of which some may be unused numbers.
        guard objectCount <= table - BinaryReader.headerSize else { return nil }
        output.append(offsets.elements, size: UInt64(table).minimumSize)
        output.appendTrailer(referenceSize: list.referenceSize, objectCount: objectCount, root: list.root, table: table)
        return output.data()
    }

    private func append(_ content: Content, to output: inout OutputBuffer) throws(PropertyListError) {
        switch content {
        case .none: break
        case .edit(let object):
            let offset = try edits.offset(of: object)
            if edits.isContainer(at: offset) {
                let children = try edits.references(at: offset)
                let isDictionary = edits.isDictionary(at: offset)
                output.append(marker: isDictionary ? 0xD0 : 0xA0, count: isDictionary ? children.count / 2 : children.count)
                for index in 0..<children.count {
                    // Everything in it was added.
                    output.append(UInt64(numbers[try edits.object(index, in: children)] ?? 0), size: list.referenceSize)
                }
            } else if let end = try edits.end(at: offset) {
                output.append(edits.bytes[offset..<end])
            }
        case .root:
            let count = changes.reduce(entries.count / 2) { $0 - $1.range.count + ($1.entry == nil ? 0 : 1) }
            output.append(marker: 0xD0, count: count)
            append(from: 0, to: &output) { $0.key }
            append(from: entries.count / 2, to: &output) { $0.value }
        }
    }

    /// Appends the references to the keys or the values, beginning with one in the root.
    private func append(from first: Int, to output: inout OutputBuffer, _ part: ((key: Int, value: Int)) -> Int) {
        var next = entries.offset(of: first)
        for change in changes {
            output.append(list.bytes[next..<entries.offset(of: first + change.range.lowerBound)])
            if let entry = change.entry { output.append(UInt64(part(entry)), size: list.referenceSize) }
            next = entries.offset(of: first + change.range.upperBound)
        }
        output.append(list.bytes[next..<entries.offset(of: first + entries.count / 2)])
    }

    /// Sets the offsets of the objects that were copied; returns false if some overlap what was not.
    private func move(_ offsets: inout ScratchArray<Int>, by copied: [(range: Range<Int>, shift: Int)]) -> Bool {
        // Without checks, as in BinaryReferences.
        let (counts, ends, old, new) = (references.counts.elements, references.ends.elements, list.offsets, offsets.elements)
        var (range, shift) = copied[0]
        for object in counts.indices where new[object] == 0 {
            guard counts[object] > 0 else {
                new[object] = new[list.root]
                continue
            }
            let offset = Int(truncatingIfNeeded: old[object])
            if !range.contains(offset) {
                (range, shift) = copied[(0..<copied.count - 1).partitioningIndex { copied[$0].range.upperBound > offset }]
                guard range.contains(offset) else { return false }
            }
            guard ends[object] <= range.upperBound else { return false }
            new[object] = offset + shift
        }
        return true
    }
}

extension BinaryReader {
    /// The expansion cost of sharing objects that have several references, by their counts.
    fileprivate func cost(of references: borrowing BinaryReferences) throws(PropertyListError) -> Int {
        var cost = 0
        for (object, count) in references.counts.elements.enumerated() where count > 1 {
            cost = cost.saturatingSum(try self.cost(of: Int(count), referencesTo: object))
        }
        return cost
    }

    /// The expansion cost of sharing an object, beyond what the bytes of the references cover; the maximum for containers, which only other
    /// writers share.
    private func cost(of count: Int, referencesTo object: Int) throws(PropertyListError) -> Int {
        let offset = try offset(of: object)
        guard let end = try endOfLeaf(at: offset) else { return .max }
        // UTF-16 grows by half when it becomes UTF-8.
        let size = (end - offset) * 3 / 2
        guard size > DecodingLimits.freelySharedSize else { return 0 }
        let (cost, overflow) = count.multipliedReportingOverflow(by: DecodingLimits.cost(ofLeafSize: size))
        return overflow ? .max : cost
    }
}
