extension BinaryReader {
    /// How many bytes of two keys are compared: those that begin with so many of the same are few, and to compare them would cost what others
    /// save.
    private static var mostCompared: Int { 64 }

    /// Whether the first of these references name ASCII texts of which each comes before the next, so that no two are the same.
    ///
    /// What is wrong with them is found when they are read.
    func keysAscend(_ references: NumberRow, count: Int) -> Bool {
        var last = 0..<0
        var lastStart = ShortASCII.empty
        for index in 0..<count {
            guard let key = asciiBytes(of: references[index]) else { return false }
            let start = ShortASCII(min(key.count, ShortASCII.most), of: bytes, at: key.lowerBound)
            guard lastStart.precedes(start) || precedes(last, key) else { return false }
            (last, lastStart) = (key, start)
        }
        return true
    }

    /// Where the bytes of an object stand that calls itself ASCII text.
    @inline(__always)
    private func asciiBytes(of object: UInt64) -> Range<Int>? {
        guard object < trailer.objectCount else { return nil }
        let offset = offsets[Int(truncatingIfNeeded: object)]
        guard offset >= BinaryTrailer.headerSize, offset < trailer.table else { return nil }
        let start = Int(truncatingIfNeeded: offset) + 1
        let marker = bytes[start - 1]
        guard marker >> 4 == 5 else { return nil }
        let count = Int(marker & 0xF)
        return count < 0xF && count <= trailer.table - start ? start..<start + count : longBytes(at: start - 1)
    }

    @inline(never)
    private func longBytes(at offset: Int) -> Range<Int>? {
        do throws(PropertyListError) {
            let (count, start) = try payload(at: offset, width: 1)
            return start..<start + count
        } catch {
            return nil
        }
    }

    @inline(never)
    private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        let shared = bytes[left].sharedStart(with: bytes[right], atMost: Self.mostCompared)
        guard shared < Self.mostCompared, shared < right.count else { return false }
        return shared == left.count || bytes[left.lowerBound + shared] < bytes[right.lowerBound + shared]
    }
}
