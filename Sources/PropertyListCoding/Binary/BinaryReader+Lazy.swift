import FoundationSubset

// Reading single entries of a list whose objects were all checked before, so that reading them later cannot fail.
extension BinaryReader {
    /// The references of a list that may be read lazily: its keys, sorted, and then its values.
    ///
    /// What is checked here is stricter than what ``read()`` requires: keys in the order in which ``BinaryWriter`` writes them, all of them
    /// ASCII, few levels of containers, and little sharing. Nothing is allocated.
    ///
    /// - Returns: nil for any other list, be it valid or not, which has to be read as a whole.
    mutating func lazyEntries() throws(PropertyListError) -> PackedIntegers? {
        let offset = try offset(of: root)
        guard isDictionary(at: offset), try checkContainer(at: offset, depth: 1) else { return nil }
        return try references(at: offset)
    }

    /// The maximum number of nested containers: a deeper list is not worth a deeper recursion.
    private static var maximumLazyDepth: Int { 32 }

    /// Whether a container and everything in it can be read, at each reference to it: shared objects count each time.
    private mutating func checkContainer(at offset: Int, depth: Int) throws(PropertyListError) -> Bool {
        guard depth <= Self.maximumLazyDepth else { return false }
        let references = try references(at: offset)
        try spend(references.count * referenceSize, at: offset)
        let keyCount = isDictionary(at: offset) ? references.count / 2 : 0
        guard try areSortedKeys(references, count: keyCount) else { return false }
        for index in keyCount..<references.count {
            let child = try self.offset(of: object(index, in: references))
            guard try isContainer(at: child) ? checkContainer(at: child, depth: depth + 1) : checkLeaf(at: child) else { return false }
        }
        return true
    }

    private mutating func areSortedKeys(_ references: PackedIntegers, count: Int) throws(PropertyListError) -> Bool {
        var last: UnsafeRawBufferPointer?
        for index in 0..<count {
            let offset = try offset(of: object(index, in: references))
            guard bytes[offset] >> 4 == 5 else { return false }
            let key = try text(at: offset)
            try spend(key.count, at: offset)
            guard key.isASCII, last?.precedes(key) != false else { return false }
            last = key
        }
        return true
    }

    /// Whether an object that is not a container can be read.
    private mutating func checkLeaf(at offset: Int) throws(PropertyListError) -> Bool {
        switch bytes[offset] {
        // An integer of 16 bytes may be too large.
        case 0x08, 0x09, 0x10...0x13, 0x22, 0x23, 0x33, 0x80...0x87: return try endOfLeaf(at: offset) != nil
        case 0x40...0x4F:
            try spend(payload(at: offset, width: 1).count, at: offset)
            return true
        case 0x50...0x5F:
            let text = try text(at: offset)
            try spend(text.count, at: offset)
            return text.isASCII
        case 0x60...0x6F:
            let (count, start) = try payload(at: offset, width: 2)
            // As UTF-8.
            try spend(count * 3, at: offset)
            return UTF16Text(bytes: bytes[start..<start + count * 2], isBigEndian: true).firstInvalid == nil
        default: return false
        }
    }

    /// The bytes of an ASCII text.
    private func text(at offset: Int) throws(PropertyListError) -> UnsafeRawBufferPointer {
        let (count, start) = try payload(at: offset, width: 1)
        return bytes[start..<start + count]
    }

    func keyText(_ index: Int, in references: PackedIntegers) throws(PropertyListError) -> KeyText {
        let offset = try offset(of: object(index, in: references))
        switch bytes[offset] >> 4 {
        case 5: return KeyText(bytes: try text(at: offset), isUTF16: false)
        case 6:
            let (count, start) = try payload(at: offset, width: 2)
            return KeyText(bytes: bytes[start..<start + count * 2], isUTF16: true)
        default: throw .keyIsNoText(at: offset)
        }
    }

    /// The position of a key in sorted references, or the one before which it would be.
    func position(of key: KeyText, in references: PackedIntegers) throws(PropertyListError) -> (position: Int, isFound: Bool) {
        let count = references.count / 2
        let position = try (0..<count).partitioningIndex { index throws(PropertyListError) in try !(keyText(index, in: references) < key) }
        return (position, position < count ? try !(key < keyText(position, in: references)) : false)
    }

    /// Reads an object that was checked. Objects that it shares are read for each reference.
    mutating func checkedValue(of object: Int) throws(PropertyListError) -> PropertyListValue {
        let offset = try offset(of: object)
        switch bytes[offset] >> 4 {
        case 4:
            let (count, start) = try payload(at: offset, width: 1)
            return .data(Data(bytes[start..<start + count]))
        case 5: return .string(try ascii(at: offset))
        case 6: return .string(try utf16(at: offset))
        case 0xA:
            let references = try references(at: offset)
            var elements: [PropertyListValue] = []
            elements.reserveCapacity(references.count)
            for index in 0..<references.count { elements.append(try checkedValue(of: self.object(index, in: references))) }
            return .array(elements)
        case 0xD:
            let references = try references(at: offset)
            let count = references.count / 2
            var entries = [String: PropertyListValue](minimumCapacity: count)
            for index in 0..<count {
                let key = try ascii(at: self.offset(of: self.object(index, in: references)))
                entries[key] = try checkedValue(of: self.object(count + index, in: references))
            }
            return .dictionary(entries)
        default: return try leaf(object, at: offset)
        }
    }
}

/// The text of a key, in the order in which keys are written: that of their UTF-8.
struct KeyText {
    let bytes: UnsafeRawBufferPointer
    let isUTF16: Bool

    private var count: Int { isUTF16 ? bytes.count / 2 : bytes.count }

    static func < (left: KeyText, right: KeyText) -> Bool {
        if !left.isUTF16, !right.isUTF16 { return left.bytes.precedes(right.bytes) }
        for index in 0..<min(left.count, right.count) {
            let (rank, other) = (left.rank(index), right.rank(index))
            if rank != other { return rank < other }
        }
        return left.count < right.count
    }

    /// A code unit, with surrogates after all others, as the code points that they encode.
    private func rank(_ index: Int) -> UInt16 {
        guard isUTF16 else { return UInt16(bytes[index]) }
        let unit = UInt16(bytes[index * 2]) << 8 | UInt16(bytes[index * 2 + 1])
        return unit < 0xD800 ? unit : unit < 0xE000 ? unit + 0x2000 : unit - 0x800
    }
}

extension UnsafeRawBufferPointer {
    /// Whether the bytes come before others in the order of keys.
    fileprivate func precedes(_ other: UnsafeRawBufferPointer) -> Bool {
        guard let start = baseAddress, let otherStart = other.baseAddress else { return count < other.count }
        let order = memcmp(start, otherStart, Swift.min(count, other.count))
        return order == 0 ? count < other.count : order < 0
    }
}
