// Reads property lists from the standard input, each after its size, and writes what the codecs and the edit log make of them to the
// standard output: for each of them eight texts or property lists, also after their sizes.
import FoundationSubset
import PropertyListCoding

@main struct RoundTrip {
    private var output: [UInt8] = []
    private var previous = Data()

    static func main() {
        var program = RoundTrip()
        let input = standardInput()
        var offset = 0
        while offset + 4 <= input.count {
            let size = input[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) }
            let document = input[offset + 4..<offset + 4 + size]
            program.answer(document.withUnsafeBytes { Data(bytes: $0.baseAddress!, count: $0.count) })
            offset += 4 + size
        }
        program.output.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                rest = rest.dropFirst(max(0, write(1, part.baseAddress!, part.count)))
            }
        }
    }

    private mutating func answer(_ document: Data) {
        var answers: [Data] = []
        do throws(PropertyListError) {
            let (value, format) = try PropertyListValue.decode(document)
            answers = [
                Data(), encoded(value, as: .binary), encoded(value, as: .xml), Data(value.description.utf8), difference(to: value),
                Data(Self.logged(value).utf8),
            ]
            if case .dictionary(let entries) = value {
                let edits = Self.edits(of: entries)
                let edited = format == .xml ? document : nil
                answers += [
                    bytes { () throws(PropertyListError) in try PropertyListValue.encode(entries, with: edits, as: .binary) },
                    bytes { () throws(PropertyListError) in
                        try PropertyListValue.encode(entries, with: edits, as: .xml, editing: edited)
                    },
                ]
            }
        } catch {
            answers = [Data(error.description.utf8)]
        }
        for index in 0..<8 { put(index < answers.count ? answers[index] : Data()) }
    }

    /// What changed from the value before, as a property list.
    private mutating func difference(to value: PropertyListValue) -> Data {
        guard let bytes = try? value.encoded(as: .binary) else { return Data() }
        defer { previous = bytes }
        var entries: [String: PropertyListValue] = [:]
        if case .dictionary(let earlier)? = try? PropertyListValue.decode(previous).value { entries = earlier }
        guard let changes = PropertyListValue.changes(in: bytes, since: previous, of: { entries[$0] }) else { return Data() }
        let list = changes.reduce(into: [String: PropertyListValue]()) { $0[$1.key] = $1.value ?? .string("removed") }
        return encoded(.dictionary(list), as: .binary)
    }

    /// What the edit log makes of a value: it is written and read again, and so is the beginning of a larger array.
    private static func logged(_ value: PropertyListValue) -> String {
        guard let size = value.loggedSize() else { return "too deep" }
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 + size, alignment: 8)
        defer { bytes.deallocate() }
        var writer = LogWriter(at: bytes.baseAddress!)
        writer.put(value)
        var reader = LogReader(UnsafeRawBufferPointer(bytes))
        let isSame = reader.value() == .some(value)
        writer = LogWriter(at: bytes.baseAddress!)
        writer.put(LogTag.array)
        writer.put(UInt32.max)
        reader = LogReader(UnsafeRawBufferPointer(bytes))
        let isPart = reader.value() == nil
        return "\(size) \(Optional(value).fingerprint) \(isSame) \(isPart)"
    }

    /// Sets, replaces and removes an entry.
    private static func edits(of entries: [String: PropertyListValue]) -> [String: PropertyListValue?] {
        var edits: [String: PropertyListValue?] = ["added": .some(.array([.integer(1), .dictionary(["inside": .boolean(true)])]))]
        let keys = entries.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        if let first = keys.first { edits[first] = .some(nil) }
        if let last = keys.dropFirst().last { edits[last] = .some(.integer(-7)) }
        return edits
    }

    private func encoded(_ value: PropertyListValue, as format: PropertyListFormat) -> Data {
        bytes { () throws(PropertyListError) in try value.encoded(as: format) }
    }

    /// The bytes, or the text of the error.
    private func bytes(_ body: () throws(PropertyListError) -> Data) -> Data {
        do throws(PropertyListError) {
            return try body()
        } catch {
            return Data(error.description.utf8)
        }
    }

    private mutating func put(_ bytes: Data) {
        for shift in [24, 16, 8, 0] { output.append(UInt8(truncatingIfNeeded: bytes.count >> shift)) }
        output.append(contentsOf: bytes)
    }

    private static func standardInput() -> [UInt8] {
        var input: [UInt8] = []
        var portion = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = portion.withUnsafeMutableBytes { read(0, $0.baseAddress!, $0.count) }
            guard count > 0 else { return input }
            input.append(contentsOf: portion[..<count])
        }
    }
}
