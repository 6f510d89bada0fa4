extension PropertyListError {
    // None of them is inlined or takes a reader: what is there for errors would slow down where there are none.

    @inline(never)
    static func cutShort(_ offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "an object is cut short")
    }

    @inline(never)
    static func count(_ count: UInt64, tooLargeAt offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a count of \(count), more than there are bytes for")
    }

    @inline(never)
    static func reference(to object: UInt64, of count: Int, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "a reference to object \(object) of \(count)")
    }

    @inline(never)
    static func object(_ object: Int, outsideAt offset: UInt64, entry: Int) -> PropertyListError {
        PropertyListError(offset: entry, reason: "object \(object) lies outside the objects, at \(offset)")
    }

    @inline(never)
    static func notASCII(_ text: UnsafeRawBufferPointer, at offset: Int) -> PropertyListError {
        PropertyListError(offset: offset + text.endOfASCII(), reason: "a byte that is not ASCII in an ASCII string")
    }

    @inline(never)
    static func unreadable(_ marker: UInt8, at offset: Int) -> PropertyListError {
        let reason =
            switch marker >> 4 {
            case 0 where marker == 0: "a null, which a property list cannot hold"
            case 0xB, 0xC: "a set, which a property list cannot hold"
            default: "an object of unknown type 0x\(String(marker, radix: 16))"
            }
        return PropertyListError(offset: offset, reason: reason)
    }

    @inline(never)
    static func tooLarge(at offset: Int, of bytes: Int) -> PropertyListError {
        PropertyListError(offset: offset, reason: "shared objects make the property list much larger than its \(bytes) bytes")
    }
}
