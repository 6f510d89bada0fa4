import Foundation

extension BinaryReader {
    /// Where an object begins.
    func place(of object: Int) throws(PropertyListError) -> Int {
        let entry = trailer.table + object * trailer.offsetSize
        let offset = bytes.number(at: entry, size: trailer.offsetSize)
        guard offset >= BinaryTrailer.headerSize, offset < trailer.table else {
            throw PropertyListError(offset: entry, reason: "object \(object) lies outside the objects, at \(offset)")
        }
        return Int(offset)
    }

    /// How many elements of a width an object has and where they begin, all of them inside the objects.
    func payload(at offset: Int, width: Int) throws(PropertyListError) -> (count: Int, start: Int) {
        var count = UInt64(bytes[offset] & 0xF)
        var start = offset + 1
        if count == 0xF {
            guard start < trailer.table else { throw cutShort(offset) }
            let marker = bytes[start]
            guard marker >> 4 == 1, marker & 0xF <= 3 else {
                throw PropertyListError(offset: start, reason: "a count that is not an integer of 1 to 8 bytes")
            }
            let size = 1 << Int(marker & 0xF)
            guard trailer.table - start > size else { throw cutShort(offset) }
            count = bytes.number(at: start + 1, size: size)
            start += 1 + size
        }
        guard count <= (trailer.table - start) / width else {
            throw PropertyListError(offset: offset, reason: "a count of \(count), more than there are bytes for")
        }
        return (Int(count), start)
    }

    /// Takes the size of an object that is kept off what may still be read.
    mutating func charge(_ size: Int, for offset: Int) throws(PropertyListError) {
        allowance -= size
        guard allowance >= 0 else { throw PropertyListError(offset: offset, reason: "objects overlap") }
    }

    /// The text of a key.
    mutating func key(_ object: Int) throws(PropertyListError) -> String {
        if case .string(let key)? = keptValue(object) { return key }
        let offset = try place(of: object)
        guard case .string(let key)? = try leaf(object, at: offset)?.value else {
            throw PropertyListError(offset: offset, reason: "a key that is not a string")
        }
        return key
    }

    /// Decodes an object that is not a container; the size is that of its text or data.
    mutating func leaf(_ object: Int, at offset: Int) throws(PropertyListError) -> (value: PropertyListValue, size: Int)? {
        let marker = bytes[offset]
        switch (marker >> 4, marker & 0xF) {
        case (0, 8): return (.boolean(false), 0)
        case (0, 9): return (.boolean(true), 0)
        case (0, 0): throw PropertyListError(offset: offset, reason: "a null, which a property list cannot hold")
        case (1, 0...4): return (.integer(try integer(at: offset, size: 1 << Int(marker & 0xF))), 0)
        case (2, 2): return (.real(Double(Float(bitPattern: UInt32(try number(at: offset, size: 4))))), 0)
        case (2, 3): return (.real(Double(bitPattern: try number(at: offset, size: 8))), 0)
        case (3, 3): return (.date(Date(timeIntervalSinceReferenceDate: Double(bitPattern: try number(at: offset, size: 8)))), 0)
        case (4, _):
            let data = try data(at: offset)
            return (try sharing(.data(data), data.count, object, at: offset), data.count)
        case (5, _), (6, _):
            let string = marker >> 4 == 5 ? try ascii(at: offset) : try utf16(at: offset)
            return (try sharing(.string(string), string.utf8.count, object, at: offset), string.utf8.count)
        case (8, 0...7): return (.uid(try number(at: offset, size: Int(marker & 0xF) + 1)), 0)
        case (0xA, _), (0xD, _): return nil
        case (0xB, _), (0xC, _): throw PropertyListError(offset: offset, reason: "a set, which a property list cannot hold")
        default: throw PropertyListError(offset: offset, reason: "an object of unknown type 0x\(String(marker, radix: 16))")
        }
    }

    /// Sees to it that text and data that take memory of their own take it a few times at most.
    private mutating func sharing(
        _ leaf: PropertyListValue, _ size: Int, _ object: Int, at offset: Int
    ) throws(PropertyListError) -> PropertyListValue {
        if size > 15 { try meet(object, leaf, size: size, at: offset) }
        return leaf
    }

    private func number(at offset: Int, size: Int) throws(PropertyListError) -> UInt64 {
        guard trailer.table - offset > size else { throw cutShort(offset) }
        return bytes.number(at: offset + 1, size: size)
    }

    private func integer(at offset: Int, size: Int) throws(PropertyListError) -> PropertyListInteger {
        guard size == 16 else {
            let bits = try number(at: offset, size: size)
            // Only 8 bytes carry a sign.
            return size == 8 ? PropertyListInteger(Int64(bitPattern: bits)) : PropertyListInteger(bits)
        }
        guard trailer.table - offset > size else { throw cutShort(offset) }
        let high = bytes.number(at: offset + 1, size: 8)
        let low = bytes.number(at: offset + 9, size: 8)
        switch high {
        case 0: return PropertyListInteger(low)
        case .max where low >> 63 == 1: return PropertyListInteger(Int64(bitPattern: low))
        default: throw PropertyListError(offset: offset, reason: "an integer outside Int64.min to UInt64.max")
        }
    }

    private func data(at offset: Int) throws(PropertyListError) -> Data {
        let (count, start) = try payload(at: offset, width: 1)
        guard let first = bytes[start..<start + count].baseAddress else { return Data() }
        // As a collection, the bytes would be copied twice as slowly.
        return Data(bytes: first, count: count)
    }

    private func ascii(at offset: Int) throws(PropertyListError) -> String {
        let (count, start) = try payload(at: offset, width: 1)
        let text = bytes[start..<start + count]
        guard text.isASCII else {
            throw PropertyListError(offset: start + text.endOfASCII(), reason: "a byte that is not ASCII in an ASCII string")
        }
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

    private func cutShort(_ offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "an object is cut short")
    }
}
