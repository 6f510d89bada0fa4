package import FoundationSubset

/// The entries of a binary property list, each of which is decoded when it is read.
///
/// All bytes are checked when this is created: a damaged list is refused as a whole, and reading an entry cannot fail.
package struct LazyEntries: Sendable {
    private let document: Data
    package let count: Int

    /// Creates the entries of a list whose root is a dictionary.
    ///
    /// - Returns: nil if ``PropertyListValue/decode(_:)`` has to read the list, or throws the error: only lists in the order of this library's
    ///   writer, with keys of ASCII, can be read lazily.
    package init?(_ document: Data) {
        let count = document.withUnsafeBytes { buffer -> Int? in
            guard let bytes = ByteView(buffer), bytes.has("bplist0", at: 0) else { return nil }
            do throws(PropertyListError) {
                var reader = try BinaryReader(bytes, isShared: false)
                return try reader.lazyEntries().map { $0.count / 2 }
            } catch {
                return nil
            }
        }
        guard let count else { return nil }
        (self.document, self.count) = (document, count)
    }

    /// The value of an entry, decoded at each call.
    ///
    /// - Parameter name: a name of ASCII; another one is not found, although it may be equivalent to one.
    package subscript(name: String) -> PropertyListValue? {
        find(name) { reader, object throws(PropertyListError) in try reader.checkedValue(of: object) }
    }

    /// Whether there is an entry, which is not decoded; see ``subscript(_:)``.
    package func contains(_ name: String) -> Bool {
        find(name) { _, _ in } != nil
    }

    /// The number of bytes of the list.
    package var size: Int { document.count }

    private func find<Result>(
        _ name: String, _ body: (inout BinaryReader, _ object: Int) throws(PropertyListError) -> Result
    ) -> Result? {
        var name = name
        return name.withUTF8 { name in
            read { reader, entries throws(PropertyListError) in
                let key = KeyText(bytes: UnsafeRawBufferPointer(name), isUTF16: false)
                let (position, isFound) = try reader.position(of: key, in: entries)
                return isFound ? try body(&reader, reader.object(entries.count / 2 + position, in: entries)) : nil
            }
        }
    }

    /// The names of all entries.
    package var names: [String] {
        read { reader, entries throws(PropertyListError) in
            var names: [String] = []
            names.reserveCapacity(count)
            for index in 0..<count {
                names.append(try reader.ascii(at: reader.offset(of: reader.object(index, in: entries))))
            }
            return names
        }
    }

    /// Decodes all entries.
    package func decoded() -> [String: PropertyListValue] {
        read(isShared: true) { reader, _ throws(PropertyListError) in
            guard case .dictionary(let values) = try reader.read() else { return [:] }
            return values
        }
    }

    private func read<Result>(
        isShared: Bool = false, _ body: (inout BinaryReader, PackedIntegers) throws(PropertyListError) -> Result
    ) -> Result {
        document.withUnsafeBytes { buffer in
            do throws(PropertyListError) {
                guard let bytes = ByteView(buffer) else { preconditionFailure("no bytes") }
                var reader = try BinaryReader(bytes, isShared: isShared)
                return try body(&reader, reader.references(at: reader.offset(of: reader.root)))
            } catch {
                preconditionFailure("the bytes were checked: \(error)")
            }
        }
    }
}
