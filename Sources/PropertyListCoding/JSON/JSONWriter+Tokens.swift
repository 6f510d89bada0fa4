import FoundationSubset

// Strings, numbers, and what stands for values that JSON has no form for.

extension JSONWriter {
    mutating func put(leaf: PropertyListValue) {
        switch leaf {
        case .string(let string): put(string)
        case .integer(let integer): output.append(decimal: integer)
        case .real(let real) where real.isFinite: real.description.withBytes { output.append($0) }
        case .real(let real): put(substitute: real.isNaN ? "nan" : real.description, "$real", for: leaf)
        case .boolean(let boolean): output.append(boolean ? "true" : "false")
        case .date(let date): put(substitute: date.iso8601, "$date", for: leaf)
        case .data(let data): put(substitute: data.base64EncodedString(), "$data", for: leaf)
        case .uid(let uid):
            output.append("{\"CF$UID\":")
            uid.description.withBytes { output.append($0) }
            output.append(0x7D)
            if substitutes == .none { refuse(leaf) }
        case .array, .dictionary: preconditionFailure("a container")
        }
    }

    private mutating func put(substitute text: @autoclosure () -> String, _ tag: String, for leaf: PropertyListValue) {
        switch substitutes {
        case .none: refuse(leaf)
        case .text: put(text())
        case .tagged:
            output.append(0x7B)
            put(tag)
            output.append(0x3A)
            put(text())
            output.append(0x7D)
        }
    }

    private mutating func refuse(_ leaf: PropertyListValue) {
        guard failure == nil else { return }
        let what =
            switch leaf {
            case .real(let real): "the number \(real)"
            case .data: "data"
            default: "\(leaf.typeName)s"
            }
        failure = PropertyListError(offset: nil, reason: "JSON has no form for \(what)")
        failure?.refusedType = leaf.typeName
    }

    /// Writes a string, in which characters that control a terminal or the direction of text are escaped.
    mutating func put(_ text: String) {
        output.append(0x22)
        text.withBytes { text in
            var start = 0
            var index = 0
            while index < text.count {
                let byte = text[index]
                // The bytes with which all scalars begin that are escaped; see `Unicode.Scalar.isUnprintable`.
                guard byte < 0x20 || byte == 0x22 || byte == 0x5C || byte == 0x7F || byte == 0xC2 || byte == 0xD8 || byte == 0xE2 else {
                    index += 1
                    continue
                }
                let scalar = byte < 0x80 ? Unicode.Scalar(byte) : text.scalar(at: index) ?? "\u{FFFD}"
                let size = UTF8.width(scalar)
                if scalar.isUnprintable || byte <= 0x5C {
                    output.append(UnsafeRawBufferPointer(rebasing: text[start..<index]))
                    put(escaped: scalar)
                    start = index + size
                }
                index += size
            }
            output.append(UnsafeRawBufferPointer(rebasing: text[start...]))
        }
        output.append(0x22)
    }

    private mutating func put(escaped scalar: Unicode.Scalar) {
        output.append(0x5C)
        switch scalar {
        case "\n": output.append(UInt8(ascii: "n"))
        case "\r": output.append(UInt8(ascii: "r"))
        case "\t": output.append(UInt8(ascii: "t"))
        case "\"", "\\": output.append(UInt8(truncatingIfNeeded: scalar.value))
        default: "u\(Int(scalar.value).padded(to: 4, radix: 16))".withBytes { output.append($0) }
        }
    }
}

extension Unicode.Scalar {
    /// Whether it controls a terminal or the direction of text; a tab and a line feed do not count.
    package var isUnprintable: Bool {
        switch value {
        case 0x09, 0x0A: false
        case ..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
