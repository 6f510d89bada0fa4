import FoundationSubset
import Synchronization

/// The open lock files of this process are registered, and a forked child closes them immediately.
///
/// A lock belongs to the open file, which a child shares: otherwise a child that does not execute another program would hold the locks that
/// its parent held at the fork, even after the parent has died. In a child that executes another program they are closed by the system.
extension FileLock {
    /// Words with a bit for each descriptor, and the address of the next block in the last word.
    ///
    /// A forked child may neither allocate memory nor wait for a lock, so these are atomics at fixed addresses that are never freed.
    private typealias Block = UnsafeMutablePointer<Atomic<UInt>>

    private static let wordsOfBlock = 64
    private static let bitsOfBlock = wordsOfBlock * UInt.bitWidth

    nonisolated(unsafe) private static let registered = makeBlock()

    private static let forkCount = Atomic<Int>(0)

    private static let closesInChildren: Bool = {
        // Initialized before, because a child may not wait for a thread that does it.
        _ = (registered, forks)
        return pthread_atfork(nil, nil) { FileLock.closeInChild() } == 0
    }()

    /// The number of forks of this process and its ancestors since they had lock files open: files opened before a fork are closed.
    static var forks: Int {
        forkCount.load(ordering: .relaxed)
    }

    /// Releases the lock of an open file, and closes it.
    ///
    /// - Parameter isRemoved: whether closing deletes the file, which is done later.
    static func release(_ descriptor: Int32, isRemoved: Bool = false, calls: FileSystemCalls) {
        // Closing alone would leave it locked while a child process that is being started has it open.
        calls.releaseLock(descriptor)
        unregister(descriptor)
        if isRemoved { calls.closeLater(descriptor) } else { calls.discard(descriptor) }
    }

    /// Closes a lock file that is not held, or is not the one at its path.
    func discard(_ descriptor: Int32) {
        Self.unregister(descriptor)
        calls.discard(descriptor)
    }

    /// Registers a descriptor to be closed in forked children.
    static func register(_ descriptor: Int32) {
        let (word, bit) = position(of: descriptor)
        if closesInChildren { word.pointee.bitwiseOr(bit, ordering: .acquiringAndReleasing) }
    }

    /// Called before a descriptor is closed: its number may be reused for another file afterwards.
    private static func unregister(_ descriptor: Int32) {
        let (word, bit) = position(of: descriptor)
        word.pointee.bitwiseAnd(~bit, ordering: .acquiringAndReleasing)
    }

    /// The word with the bit of a descriptor, and that bit.
    private static func position(of descriptor: Int32) -> (word: Block, bit: UInt) {
        var (block, index) = (registered, Int(descriptor))
        while index >= bitsOfBlock { (block, index) = (next(after: block), index - bitsOfBlock) }
        return (block + index / UInt.bitWidth, 1 << (index % UInt.bitWidth))
    }

    /// The block of the next descriptors, created if it is missing.
    private static func next(after block: Block) -> Block {
        while true {
            if let next = Block(bitPattern: block[wordsOfBlock].load(ordering: .acquiring)) { return next }
            let new = makeBlock()
            let address = UInt(bitPattern: new)
            // Otherwise another thread was faster.
            if !block[wordsOfBlock].compareExchange(expected: 0, desired: address, ordering: .acquiringAndReleasing).exchanged {
                new.deallocate()
            }
        }
    }

    private static func makeBlock() -> Block {
        let block = Block.allocate(capacity: wordsOfBlock + 1)
        for index in 0..<wordsOfBlock + 1 { (block + index).initialize(to: Atomic(0)) }
        return block
    }

    private static func closeInChild() {
        var (block, first): (Block?, Int32) = (registered, 0)
        while let words = block {
            for index in 0..<wordsOfBlock {
                var bits = words[index].exchange(0, ordering: .acquiringAndReleasing)
                while bits != 0 {
                    // Not by `FileSystemCalls`: only calls that are safe in a signal handler are safe here.
                    close(first + Int32(index * UInt.bitWidth + bits.trailingZeroBitCount))
                    bits &= bits - 1
                }
            }
            block = Block(bitPattern: words[wordsOfBlock].load(ordering: .acquiring))
            first += Int32(bitsOfBlock)
        }
        forkCount.add(1, ordering: .relaxed)
    }
}
