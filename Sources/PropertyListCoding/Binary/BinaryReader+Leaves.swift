import FoundationSubset

// The inlining in this file: see BinaryReader, binary.parse 1.2.
extension BinaryReader {
    @inline(__always)
    mutating func key(_ object: Int) throws(PropertyListError) -> String {
        let offset = try offset(of: object)
        let marker = bytes[offset]
        if marker >> 4 == 5 && marker != 0x5F { return try shortASCII(at: offset) }
        return try longKey(object, at: offset)
    }

    private mutating func longKey(_ object: Int, at offset: Int) throws(PropertyListError) -> String {
        switch bytes[offset] >> 4 {
        case 5, 6: return try longText(object, at: offset)
        case 0xA, 0xD: break
        default: _ = try leaf(object, at: offset)
        }
        throw .keyIsNoText(at: offset)
    }

    /// Decodes an object that is not a container.
    mutating func leaf(_ object: Int, at offset: Int) throws(PropertyListError) -> PropertyListValue {
        let marker = bytes[offset]
        switch marker >> 4 {
        case 0 where marker == 0x08: return .boolean(false)
        case 0 where marker == 0x09: return .boolean(true)
        case 1 where marker <= 0x14: return .integer(try integer(at: offset, size: 1 << Int(marker & 0xF)))
        case 2 where marker == 0x22: return .real(Double(Float(bitPattern: UInt32(try bits(at: offset, size: 4)))))
        case 2 where marker == 0x23: return .real(Double(bitPattern: try bits(at: offset, size: 8)))
        case 3 where marker == 0x33:
            return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try bits(at: offset, size: 8))))
        case 4: return .data(try data(object, at: offset))
        case 5 where marker != 0x5F: return .string(try shortASCII(at: offset))
        case 5, 6: return .string(try longText(object, at: offset))
        case 8 where marker <= 0x87: return .uid(try bits(at: offset, size: Int(marker & 0xF) + 1))
        default: throw .unreadable(marker, at: offset)
        }
    }

    /// The offset after the leaf at an offset, or nil for a container or an unknown object.
    @inline(__always)
    func endOfLeaf(at offset: Int) throws(PropertyListError) -> Int? {
        let marker = bytes[offset]
        let end: Int
        switch marker >> 4 {
        case 0: end = offset + 1
        case 1, 2, 3: end = offset + 1 + 1 << Int(marker & 0xF)
        case 4, 5:
            let (count, start) = try payload(at: offset, width: 1)
            end = start + count
        case 6:
            let (count, start) = try payload(at: offset, width: 2)
            end = start + count * 2
        case 8: end = offset + 2 + Int(marker & 0xF)
        default: return nil
        }
        return end <= objectsEnd ? end : nil
    }

    /// The offset after the object at an offset, or nil for an unknown one.
    func end(at offset: Int) throws(PropertyListError) -> Int? {
        guard isContainer(at: offset) else { return try endOfLeaf(at: offset) }
        let references = try references(at: offset)
        return references.offset(of: references.count)
    }

    private func bits(at offset: Int, size: Int) throws(PropertyListError) -> UInt64 {
        guard objectsEnd - offset > size else { throw .cutShort(offset) }
        return bytes.integer(at: offset + 1, size: size)
    }

    private func integer(at offset: Int, size: Int) throws(PropertyListError) -> PropertyListInteger {
        guard size == 16 else {
            let bits = try bits(at: offset, size: size)
            // Of these sizes, only 8 bytes are signed.
            return size == 8 ? PropertyListInteger(Int64(bitPattern: bits)) : PropertyListInteger(bits)
        }
        guard objectsEnd - offset > size else { throw .cutShort(offset) }
        let high = bytes.integer(at: offset + 1, size: 8)
        let low = bytes.integer(at: offset + 9, size: 8)
        switch high {
        case 0: return PropertyListInteger(low)
        case .max where low >> 63 == 1: return PropertyListInteger(Int64(bitPattern: low))
        default: throw PropertyListError(offset: offset, reason: "an integer outside Int64.min to UInt64.max")
        }
    }
}

// Text and data.
extension BinaryReader {
    /// The maximum size of text or data that needs no allocation; larger ones are decoded at most twice.
    private static var inlineSize: Int { 15 }

    @inline(__always)
    private func shortASCII(at offset: Int) throws(PropertyListError) -> String {
        let count = Int(bytes[offset] & 0xF)
        let start = offset + 1
        guard count <= objectsEnd - start else { throw .count(UInt64(count), tooLargeAt: offset) }
        // The trailer follows all objects, so that there are always 15 bytes.
        guard let text = bytes.shortASCII(count: count, at: start) else { throw .notASCII(bytes[start..<start + count], at: start) }
        return text
    }

    private mutating func longText(_ object: Int, at offset: Int) throws(PropertyListError) -> String {
        if let node = sharedNode(object), case .string(let text) = node.value {
            addCost(ofLeafSize: text.utf8.count)
            return text
        }
        let text = bytes[offset] >> 4 == 5 ? try ascii(at: offset) : try utf16(at: offset)
        let size = text.utf8.count
        if size > Self.inlineSize, try !markVisited(object, size: size, at: offset) { share(.string(text), size: size, as: object) }
        return text
    }

    private mutating func data(_ object: Int, at offset: Int) throws(PropertyListError) -> Data {
        if let node = sharedNode(object), case .data(let data) = node.value {
            addCost(ofLeafSize: data.count)
            return data
        }
        let (count, start) = try payload(at: offset, width: 1)
        guard let first = bytes[start..<start + count].baseAddress else { return Data() }
        // Twice as fast as from a collection of bytes.
        let data = Data(bytes: first, count: count)
        if count > Self.inlineSize, try !markVisited(object, size: count, at: offset) { share(.data(data), size: count, as: object) }
        return data
    }

    /// Marks a text or data as visited; returns false if it was before, and its value has to be shared: sharing all of them would cost more
    /// than decoding some twice.
    private mutating func markVisited(_ object: Int, size: Int, at offset: Int) throws(PropertyListError) -> Bool {
        addCost(ofLeafSize: size)
        guard states[object] == .unvisited else { return false }
        try spend(size, at: offset)
        states[object] = .visited
        return true
    }

    private mutating func share(_ leaf: PropertyListValue, size: Int, as object: Int) {
        share((leaf, DecodingLimits.cost(ofLeafSize: size), 0), as: object)
    }

    private mutating func addCost(ofLeafSize size: Int) {
        longLeafCost = longLeafCost.saturatingSum(DecodingLimits.cost(ofLeafSize: size) - 1)
    }

    func ascii(at offset: Int) throws(PropertyListError) -> String {
        let (count, start) = try payload(at: offset, width: 1)
        let text = bytes[start..<start + count]
        guard text.isASCII else { throw .notASCII(text, at: start) }
        return String(validUTF8: text, isASCII: true)
    }

    func utf16(at offset: Int) throws(PropertyListError) -> String {
        let (count, start) = try payload(at: offset, width: 2)
        let text = UTF16Text(bytes: bytes[start..<start + count * 2], isBigEndian: true)
        if let string = String(text) { return string }
        throw PropertyListError(offset: start + (text.firstInvalid ?? 0), reason: "half of a surrogate pair in a string")
    }
}

extension PropertyListError {
    static func keyIsNoText(at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a key that is not a string")
    }

    fileprivate static func notASCII(_ text: UnsafeRawBufferPointer, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset + text.endOfASCII, reason: "a byte that is not ASCII in an ASCII string")
    }

    fileprivate static func unreadable(_ marker: UInt8, at offset: Int) -> PropertyListError {
        let reason =
            switch marker >> 4 {
            case 0 where marker == 0: "a null, which a property list cannot hold"
            case 0xB, 0xC: "a set, which a property list cannot hold"
            default: "an object of unknown type 0x\(String(marker, radix: 16))"
            }
        return PropertyListError(offset: offset, reason: reason)
    }
}
