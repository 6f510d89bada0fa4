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
        do throws(PropertyListError) {
            for index in 0..<count {
                guard let key = try asciiBytes(of: reference(index, in: references)) else { return false }
                let start = ShortASCII(min(key.count, ShortASCII.most), of: bytes, at: key.lowerBound)
                guard lastStart.precedes(start) || precedes(last, key) else { return false }
                (last, lastStart) = (key, start)
            }
            return true
        } catch {
            return false
        }
    }

    /// Where the bytes of an object stand that calls itself ASCII text.
    @inline(__always)
    private func asciiBytes(of object: Int) throws(PropertyListError) -> Range<Int>? {
        let offset = try place(of: object)
        guard bytes[offset] >> 4 == 5 else { return nil }
        let (count, start) = try payload(at: offset, width: 1)
        return start..<start + count
    }

    @inline(never)
    private func precedes(_ left: Range<Int>, _ right: Range<Int>) -> Bool {
        let shared = bytes[left].sharedStart(with: bytes[right], atMost: Self.mostCompared)
        guard shared < Self.mostCompared, shared < right.count else { return false }
        return shared == left.count || bytes[left.lowerBound + shared] < bytes[right.lowerBound + shared]
    }
}
