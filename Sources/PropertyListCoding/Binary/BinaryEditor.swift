import FoundationSubset

/// Replaces values in a binary property list that ``BinaryWriter`` has written, without encoding the others.
///
/// A leaf that only the edited entry refers to is replaced in place, even if another one is equal; an entry that shares its value, as most
/// booleans are shared, refers to the equal leaf instead, or to one that is added after the others. It looks at each object once. Without
/// it, commit.1000 takes 1.09 times as long, and a commit of 100,000 entries 7 times.
struct BinaryEditor {
    // Of several, each takes as long as the first.
    private static let maximumCount = 8

    private let reader: BinaryReader
    // Where the leaves end and the containers begin, of which the root is the first.
    private let leavesEnd: Int
    private let entries: PackedIntegers

    /// The property list after edits of the root's entries; nil if it has to be written anew.
    ///
    /// - Parameter document: what ``BinaryWriter`` has written: nothing else has its order.
    static func edit(_ document: Data, _ edits: [String: PropertyListValue?]) -> Data? {
        guard edits.count <= maximumCount else { return nil }
        let hash = LeafHash()
        var document = document
        for (key, value) in edits {
            guard let value, !value.isContainer else { return nil }
            var leaves = OutputBuffer(capacity: 64)
            _ = leaves.append(leaf: .string(key), hash)
            let middle = leaves.count
            _ = leaves.append(leaf: value, hash)
            let edited = document.withUnsafeBytes { bytes -> Data? in
                do throws(PropertyListError) {
                    guard let bytes = ByteView(bytes), let editor = try BinaryEditor(bytes) else { return nil }
                    return try editor.replaceValue(
                        of: leaves.bytes(from: 0, to: middle), with: leaves.bytes(from: middle, to: leaves.count))
                } catch {
                    // It was not written by this writer.
                    return nil
                }
            }
            guard let edited else { return nil }
            document = edited
        }
        return document
    }

    private init?(_ bytes: ByteView) throws(PropertyListError) {
        reader = try BinaryReader(bytes)
        leavesEnd = try reader.offset(of: reader.root)
        guard reader.isDictionary(at: leavesEnd) else { return nil }
        entries = try reader.references(at: leavesEnd)
    }

    /// Replaces the value of a key, both given as their objects.
    private func replaceValue(
        of key: UnsafeRawBufferPointer, with value: UnsafeRawBufferPointer
    ) throws(PropertyListError) -> Data? {
        guard let (key, equal) = try objects(of: key, and: value), let position = position(of: key) else { return nil }
        let index = entries.count / 2 + position
        let object = try reader.object(index, in: entries)
        let start = try reader.offset(of: object)
        guard start < leavesEnd, let end = try reader.endOfLeaf(at: start) else { return nil }
        if try isReferredToOnce(object) { return try replace(start..<end, with: value) }
        return if let equal { refer(index, to: equal) } else { try refer(index, toNew: value) }
    }

    /// The objects of a key and of a value; nil for a value that is none, and instead of both if there is no such key.
    private func objects(
        of key: UnsafeRawBufferPointer, and value: UnsafeRawBufferPointer
    ) throws(PropertyListError) -> (key: UInt64, value: UInt64?)? {
        var (found, equal): (UInt64?, UInt64?) = (nil, nil)
        var last = 0
        var longest = value.count
        for object in 0..<reader.objectCount {
            let offset = try reader.offset(of: object)
            guard offset < leavesEnd else { continue }
            guard offset > last else { return nil }
            if last > 0 { longest = max(longest, offset - last) }
            last = offset
            if equal == nil, has(value, at: offset) { equal = UInt64(object) }
            if found == nil, has(key, at: offset) { found = UInt64(object) }
        }
        longest = max(longest, leavesEnd - last)
        // So much sharing of long leaves that a reader might refuse fewer bytes.
        let references = (reader.objectsEnd - leavesEnd) / reader.referenceSize
        let (cost, overflow) = references.multipliedReportingOverflow(by: 1 + DecodingLimits.cost(ofLeafSize: longest))
        guard !overflow, cost <= DecodingLimits.maximumCost(forInput: leavesEnd) else { return nil }
        return found.map { ($0, equal) }
    }

    // The bytes of a leaf determine its end, so that an equal prefix is an equal leaf.
    private func has(_ leaf: UnsafeRawBufferPointer, at offset: Int) -> Bool {
        reader.bytes[offset] == leaf[0] && leaf.count <= leavesEnd - offset
            && reader.bytes[offset..<offset + leaf.count].isRepeated(in: leaf, at: 0)
    }

    private func position(of key: UInt64) -> Int? {
        (0..<entries.count / 2).first { entries[$0] == key }
    }

    private func isReferredToOnce(_ object: Int) throws(PropertyListError) -> Bool {
        var count = 0
        for container in 0..<reader.objectCount {
            let offset = try reader.offset(of: container)
            guard offset >= leavesEnd else { continue }
            let references = try reader.references(at: offset)
            for index in 0..<references.count where references[index] == object { count += 1 }
        }
        return count == 1
    }

    /// Makes a reference of the root one to another object.
    private func refer(_ index: Int, to object: UInt64) -> Data {
        let offset = entries.offset(of: index)
        let bytes = reader.bytes
        var output = OutputBuffer(capacity: bytes.count)
        output.append(bytes[0..<offset])
        output.append(object, size: reader.referenceSize)
        output.append(bytes[offset + reader.referenceSize..<bytes.count])
        return output.data()
    }

    /// Adds a leaf after the others, as the last object, and makes a reference of the root one to it.
    private func refer(_ index: Int, toNew value: UnsafeRawBufferPointer) throws(PropertyListError) -> Data? {
        let count = UInt64(reader.objectCount + 1)
        let table = reader.objectsEnd + value.count
        let offsetSize = UInt64(table).minimumSize
        guard count.minimumSize == reader.referenceSize, offsetSize == UInt64(reader.objectsEnd).minimumSize else { return nil }
        let bytes = reader.bytes
        let offset = entries.offset(of: index)
        var output = OutputBuffer(capacity: bytes.count + value.count + 16)
        output.append(bytes[0..<leavesEnd])
        output.append(value)
        output.append(bytes[leavesEnd..<offset])
        output.append(count - 1, size: reader.referenceSize)
        output.append(bytes[offset + reader.referenceSize..<reader.objectsEnd])
        for object in 0..<reader.objectCount {
            let offset = try reader.offset(of: object)
            output.append(UInt64(offset < leavesEnd ? offset : offset + value.count), size: offsetSize)
        }
        output.append(UInt64(leavesEnd), size: offsetSize)
        // The count of objects, the root and the table follow the sizes of offsets and references.
        let trailer = bytes.count - BinaryReader.trailerSize
        output.append(bytes[trailer..<trailer + 8])
        output.append(count, size: 8)
        output.append(bytes[trailer + 16..<trailer + 24])
        output.append(UInt64(table), size: 8)
        return output.data()
    }

    private func replace(_ range: Range<Int>, with value: UnsafeRawBufferPointer) throws(PropertyListError) -> Data? {
        let shift = value.count - range.count
        let table = reader.objectsEnd + shift
        let offsetSize = UInt64(table).minimumSize
        let bytes = reader.bytes
        guard offsetSize == UInt64(reader.objectsEnd).minimumSize else { return nil }
        var output = OutputBuffer(capacity: bytes.count + shift + 8)
        output.append(bytes[0..<range.lowerBound])
        output.append(value)
        guard shift != 0 else {
            output.append(bytes[range.upperBound..<bytes.count])
            return output.data()
        }
        output.append(bytes[range.upperBound..<reader.objectsEnd])
        for object in 0..<reader.objectCount {
            let offset = try reader.offset(of: object)
            // Objects overlap only in what others have written.
            guard offset <= range.lowerBound || offset >= range.upperBound else { return nil }
            output.append(UInt64(offset > range.lowerBound ? offset + shift : offset), size: offsetSize)
        }
        output.append(bytes[bytes.count - BinaryReader.trailerSize..<bytes.count - 8])
        output.append(UInt64(table), size: 8)
        return output.data()
    }
}
