import Foundation
import Testing

@testable import PropertyListCoding

@Suite("Blocks of memory", .timeLimit(.minutes(1)))
struct MemoryBlockTests {
    @Test("A large block is a separate mapping, and keeps its bytes when it grows", arguments: [5_000, 3 << 19, 5 << 20])
    func mappings(size: Int) {
        let count = size / 8
        var buffer = OutputBuffer()
        for number in 0..<count { buffer.append(UInt64(number), size: 8) }
        let data = buffer.data()
        #expect(data.count == count * 8)
        let isSame = data.withUnsafeBytes { bytes in
            (0..<count).allSatisfy { UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: $0 * 8, as: UInt64.self)) == $0 }
        }
        #expect(isSame)
        // The allocator has a header before its own blocks.
        let start = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        if size >= MemoryBlock.smallestMapping { #expect(start.isMultiple(of: UInt(getpagesize()))) }
    }

    @Test("A block that becomes a mapping, or stops being one, keeps its bytes", arguments: [MemoryBlock.smallestMapping, 1_000])
    func resizing(size: Int) {
        var block = MemoryBlock(size: size)
        for offset in 0..<1_000 { block.start.storeBytes(of: UInt8(truncatingIfNeeded: offset), toByteOffset: offset, as: UInt8.self) }
        for newSize in [2_000, MemoryBlock.smallestMapping + 1, MemoryBlock.smallestMapping * 2, 1_000] {
            block.resize(to: newSize)
            #expect(block.size == newSize)
            let data = UnsafeRawBufferPointer(start: block.start, count: 1_000)
            #expect(data.indices.allSatisfy { data[$0] == UInt8(truncatingIfNeeded: $0) })
        }
    }
}
