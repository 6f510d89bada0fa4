import Foundation

extension String {
    /// Whether the UTF-8 of two strings is the same.
    func hasSameBytes(as other: String) -> Bool {
        let same = utf8.withContiguousStorageIfAvailable { left in
            other.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count, let leftStart = left.baseAddress, let rightStart = right.baseAddress else {
                    return left.count == right.count
                }
                return memcmp(leftStart, rightStart, left.count) == 0
            }
        }
        return (same ?? nil) ?? utf8.elementsEqual(other.utf8)
    }
}
