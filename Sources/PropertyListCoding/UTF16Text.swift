/// UTF-16 in either byte order, to be turned into UTF-8 of exactly the size it takes.
struct UTF16Text {
    let bytes: UnsafeRawBufferPointer
    let isBigEndian: Bool

    enum Size: Equatable {
        case valid(Int)
        /// Half of a surrogate pair stands alone at this offset.
        case invalid(Int)
    }

    private var count: Int { bytes.count / 2 }

    private func unit(_ index: Int) -> UInt16 {
        let unit = bytes.loadUnaligned(fromByteOffset: index * 2, as: UInt16.self)
        return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
    }

    /// How many bytes of UTF-8 the text takes, or where it is broken.
    var utf8Count: Size {
        var size = 0
        var index = 0
        while index < count {
            let first = unit(index)
            switch first {
            case 0..<0x80: size += 1
            case 0x80..<0x800: size += 2
            case 0xD800..<0xDC00:
                guard index + 1 < count, UTF16.isTrailSurrogate(unit(index + 1)) else { return .invalid(index * 2) }
                size += 4
                index += 1
            case 0xDC00..<0xE000: return .invalid(index * 2)
            default: size += 3
            }
            index += 1
        }
        return .valid(size)
    }

    /// Writes the text as UTF-8 into memory that is large enough for it, and says how much that was.
    ///
    /// To be called only when ``utf8Count`` found the text valid.
    func write(to output: UnsafeMutableBufferPointer<UInt8>) -> Int {
        var place = 0
        var index = 0
        while index < count {
            var scalar = UInt32(unit(index))
            index += 1
            if scalar & 0xF800 == 0xD800, index < count {
                scalar = 0x10000 + (scalar & 0x3FF) << 10 + UInt32(unit(index)) & 0x3FF
                index += 1
            }
            place = output.putUTF8(scalar, at: place)
        }
        return place
    }
}

extension UnsafeMutableBufferPointer<UInt8> {
    /// Writes a scalar as UTF-8 and returns the place behind it.
    func putUTF8(_ scalar: UInt32, at place: Int) -> Int {
        let size = scalar < 0x80 ? 1 : scalar < 0x800 ? 2 : scalar < 0x10000 ? 3 : 4
        precondition(place >= 0 && size <= count - place)
        switch size {
        case 1:
            self[place] = UInt8(truncatingIfNeeded: scalar)
        case 2:
            self[place] = UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6)
            self[place + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        case 3:
            self[place] = UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12)
            self[place + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F)
            self[place + 2] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        default:
            self[place] = UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18)
            self[place + 1] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F)
            self[place + 2] = UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F)
            self[place + 3] = UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F)
        }
        return place + size
    }
}
