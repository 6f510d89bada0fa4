import Foundation

extension BinaryReader {
    /// Where an object begins.
    @inline(__always)
    func place(of object: Int) throws(PropertyListError) -> Int {
        let offset = offsets[object]
        guard offset >= BinaryTrailer.headerSize, offset < trailer.table else {
            throw .object(object, outsideAt: offset, entry: offsets.offset(of: object))
        }
        return Int(truncatingIfNeeded: offset)
    }

    /// How many elements of a width an object has and where they begin, all of them inside the objects.
    @inline(__always)
    func payload(at offset: Int, width: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        let count = Int(bytes[offset] & 0xF)
        guard count < 0xF, count * width < trailer.table - offset else { return try longPayload(at: offset, width: width) }
        return (count, offset + 1)
    }

    @inline(never)
    private func longPayload(at offset: Int, width: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        var count = UInt64(bytes[offset] & 0xF)
        var start = offset + 1
        if count == 0xF {
            guard start < trailer.table else { throw .cutShort(offset) }
            let marker = bytes[start]
            guard marker >> 4 == 1, marker & 0xF <= 3 else {
                throw PropertyListError(offset: start, reason: "a count that is not an integer of 1 to 8 bytes")
            }
            let size = 1 << Int(marker & 0xF)
            guard trailer.table - start > size else { throw .cutShort(offset) }
            count = bytes.number(at: start + 1, size: size)
            start += 1 + size
        }
        guard count <= (trailer.table - start) / width else {
            throw .count(count, tooLargeAt: offset)
        }
        return (Int(count), start)
    }

    /// Takes the size of an object that is kept off what may still be read.
    mutating func charge(_ size: Int, for offset: Int) throws(PropertyListError) {
        allowance -= size
        guard allowance >= 0 else { throw PropertyListError(offset: offset, reason: "objects overlap") }
    }

    /// Whether an object holds others.
    @inline(__always)
    func isContainer(at offset: Int) -> Bool {
        let type = bytes[offset] >> 4
        return type == 0xA || type == 0xD
    }

    /// The text of a key.
    @inline(__always)
    mutating func key(_ object: Int) throws(PropertyListError) -> String {
        let offset = try place(of: object)
        if isShortASCII(at: offset) { return try shortASCII(at: offset).string }
        return try longKey(object, at: offset)
    }

    @inline(never)
    private mutating func longKey(_ object: Int, at offset: Int) throws(PropertyListError) -> String {
        switch bytes[offset] >> 4 {
        case 5, 6: return try longText(object, at: offset)
        case 0xA, 0xD: break
        default: _ = try leaf(object, at: offset)
        }
        throw PropertyListError(offset: offset, reason: "a key that is not a string")
    }

    /// Decodes an object that is not a container.
    mutating func leaf(_ object: Int, at offset: Int) throws(PropertyListError) -> PropertyListValue {
        let marker = bytes[offset]
        switch marker >> 4 {
        case 0 where marker == 0x08: return .boolean(false)
        case 0 where marker == 0x09: return .boolean(true)
        case 1 where marker <= 0x14: return .integer(try integer(at: offset, size: 1 << Int(marker & 0xF)))
        case 2 where marker == 0x22: return .real(Double(Float(bitPattern: UInt32(try number(at: offset, size: 4)))))
        case 2 where marker == 0x23: return .real(Double(bitPattern: try number(at: offset, size: 8)))
        case 3 where marker == 0x33:
            return .date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try number(at: offset, size: 8))))
        case 4: return .data(try data(object, at: offset))
        case 5 where marker != 0x5F: return .string(try shortASCII(at: offset).string)
        case 5, 6: return .string(try longText(object, at: offset))
        case 8 where marker <= 0x87: return .uid(try number(at: offset, size: Int(marker & 0xF) + 1))
        default: throw .unreadable(marker, at: offset)
        }
    }

    @inline(__always)
    private func isShortASCII(at offset: Int) -> Bool {
        let marker = bytes[offset]
        return marker >> 4 == 5 && marker != 0x5F
    }

    private mutating func longText(_ object: Int, at offset: Int) throws(PropertyListError) -> String {
        if let text = keptText(object) { return text }
        let text = bytes[offset] >> 4 == 5 ? try ascii(at: offset) : try utf16(at: offset)
        let size = text.utf8.count
        if size > Self.freeSize { try meet(object, .string(text), size: size, at: offset) }
        return text
    }

    private mutating func data(_ object: Int, at offset: Int) throws(PropertyListError) -> Data {
        if let data = keptData(object) { return data }
        let (count, start) = try payload(at: offset, width: 1)
        guard let first = bytes[start..<start + count].baseAddress else { return Data() }
        // As a collection, the bytes would be copied twice as slowly.
        let data = Data(bytes: first, count: count)
        if count > Self.freeSize { try meet(object, .data(data), size: count, at: offset) }
        return data
    }

    /// The largest text or data that takes no memory of its own; larger ones take theirs a few times at most.
    private static var freeSize: Int { 15 }

    @inline(__always)
    private func number(at offset: Int, size: Int) throws(PropertyListError) -> UInt64 {
        guard trailer.table - offset > size else { throw .cutShort(offset) }
        return bytes.number(at: offset + 1, size: size)
    }

    @inline(__always)
    private func integer(at offset: Int, size: Int) throws(PropertyListError) -> PropertyListInteger {
        guard size == 16 else {
            let bits = try number(at: offset, size: size)
            // Only 8 bytes carry a sign.
            return size == 8 ? PropertyListInteger(Int64(bitPattern: bits)) : PropertyListInteger(bits)
        }
        guard trailer.table - offset > size else { throw .cutShort(offset) }
        let high = bytes.number(at: offset + 1, size: 8)
        let low = bytes.number(at: offset + 9, size: 8)
        switch high {
        case 0: return PropertyListInteger(low)
        case .max where low >> 63 == 1: return PropertyListInteger(Int64(bitPattern: low))
        default: throw PropertyListError(offset: offset, reason: "an integer outside Int64.min to UInt64.max")
        }
    }

    @inline(__always)
    private func shortASCII(at offset: Int) throws(PropertyListError) -> ShortASCII {
        let count = Int(bytes[offset] & 0xF)
        let start = offset + 1
        guard count <= trailer.table - start else { throw .count(UInt64(count), tooLargeAt: offset) }
        // The trailer stands behind all objects, so that there are always so many bytes.
        let text = ShortASCII(count, of: bytes, at: start)
        guard text.isASCII else { throw .notASCII(bytes[start..<start + count], at: start) }
        return text
    }

    private func ascii(at offset: Int) throws(PropertyListError) -> String {
        let (count, start) = try payload(at: offset, width: 1)
        let text = bytes[start..<start + count]
        guard text.isASCII else { throw .notASCII(text, at: start) }
        return String(decoding: text, as: UTF8.self)
    }

    private func utf16(at offset: Int) throws(PropertyListError) -> String {
        let (count, start) = try payload(at: offset, width: 2)
        let text = UTF16Text(bytes: bytes[start..<start + count * 2], isBigEndian: true)
        switch text.utf8Count {
        case .valid(let size):
            return String(unsafeUninitializedCapacity: size, initializingUTF8With: text.write)
        case .invalid(let place):
            throw PropertyListError(offset: start + place, reason: "half of a surrogate pair in a string")
        }
    }
}
