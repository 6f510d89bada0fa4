import Foundation

extension XMLReader {
    /// Reads an element that is not a container, or a container without content; nothing for any other container.
    mutating func leaf(_ tag: XMLTag) throws(PropertyListError) -> PropertyListValue? {
        guard !tag.isClosing else {
            throw PropertyListError(offset: tag.offset, reason: "</\(tag.element.name)> closes nothing")
        }
        switch tag.element {
        case .dictionary: return tag.isEmpty ? .dictionary([:]) : nil
        case .array: return tag.isEmpty ? .array([]) : nil
        case .string: return .string(try string(tag))
        case .yes, .no: return .boolean(try boolean(tag))
        case .integer:
            return .integer(try parse(tag, "an integer between Int64.min and UInt64.max") { XMLNumber.integer($0) })
        case .real:
            return .real(try parse(tag, "a real") { XMLNumber.real($0) })
        case .date:
            let date = try parse(tag, "a date written YYYY-MM-DDThh:mm:ssZ") { XMLNumber.date($0) }
            return .date(Date(timeIntervalSinceReferenceDate: Double(date.secondsSinceReference)))
        case .data:
            return .data(try parse(tag, "data written in base64") { Base64.decode($0) })
        case .key: throw PropertyListError(offset: tag.offset, reason: "a key where a value should be")
        case .plist: throw PropertyListError(offset: tag.offset, reason: "a <plist> inside another")
        }
    }

    /// The text of a string or a key.
    mutating func string(_ tag: XMLTag) throws(PropertyListError) -> String {
        switch try scanner.text(of: tag) {
        case .plain(let range): String(decoding: scanner.bytes[range], as: UTF8.self)
        case .built(let bytes): String(decoding: bytes, as: UTF8.self)
        }
    }

    private mutating func boolean(_ tag: XMLTag) throws(PropertyListError) -> Bool {
        if !tag.isEmpty {
            try scanner.skipBetweenTags()
            let close = try scanner.tag()
            guard close.isClosing, close.element == tag.element else {
                throw PropertyListError(offset: close.offset, reason: "something inside <\(tag.element.name)>")
            }
        }
        return tag.element == .yes
    }

    private mutating func parse<Parsed>(
        _ tag: XMLTag, _ what: String, with parser: (UnsafeRawBufferPointer) -> Parsed?
    ) throws(PropertyListError) -> Parsed {
        let start = scanner.place
        let parsed =
            switch try scanner.text(of: tag) {
            case .plain(let range): parser(scanner.bytes[range])
            case .built(let bytes): bytes.withUnsafeBytes(parser)
            }
        guard let parsed else { throw PropertyListError(offset: start, reason: "this is not \(what)") }
        return parsed
    }
}
