import Foundation

@testable import EtcdStorage

/// Any JSON value, as the scanner reads it, to be compared with what Foundation reads.
enum JSONTree: Equatable {
    case string([UInt8])
    /// Rounded, because Foundation reads numbers of many digits as decimal ones.
    case number(Float)
    case boolean(Bool)
    case null
    case array([JSONTree])
    case object([[UInt8]: JSONTree])

    /// Reads the value at which the scanner stands.
    init(from scanner: inout JSONScanner) throws(JSONError) {
        switch try scanner.nextByte() {
        case UInt8(ascii: "{"):
            var members: [[UInt8]: JSONTree] = [:]
            try scanner.beginObject()
            while let name = try scanner.nextMember() { members[Array(name.utf8)] = try JSONTree(from: &scanner) }
            self = .object(members)
        case UInt8(ascii: "["):
            var elements: [JSONTree] = []
            try scanner.beginArray()
            while try scanner.nextElement() { elements.append(try JSONTree(from: &scanner)) }
            self = .array(elements)
        case UInt8(ascii: "\""): self = .string(Array(try scanner.string().utf8))
        case UInt8(ascii: "t"), UInt8(ascii: "f"): self = .boolean(try scanner.boolean())
        case UInt8(ascii: "n"):
            try scanner.skip()
            self = .null
        default:
            let start = scanner.offset
            try scanner.skip()
            let text = String(decoding: scanner.bytes[start..<scanner.offset], as: UTF8.self)
            self = .number(Float(text) ?? .nan)
        }
    }

    /// Reads a whole text.
    init(json: [UInt8]) throws(JSONError) {
        var scanner = JSONScanner(json)
        try self.init(from: &scanner)
        try scanner.finish()
    }

    /// Reads a whole text with Foundation, without the members that are null.
    init(foundation json: [UInt8]) throws {
        self = Self.tree(try JSONSerialization.jsonObject(with: Data(json), options: .fragmentsAllowed))
    }

    private static func tree(_ value: Any) -> JSONTree {
        switch value {
        case let text as String: .string(Array(text.utf8))
        case let number as NSNumber where CFBooleanType.isBoolean(number): .boolean(number.boolValue)
        case let number as NSNumber: .number(number.floatValue)
        case let elements as [Any]: .array(elements.map(tree))
        case let members as [String: Any]:
            .object(
                members.filter { !($0.value is NSNull) }.reduce(into: [:]) { $0[Array($1.key.utf8)] = tree($1.value) })
        default: .null
        }
    }
}

private enum CFBooleanType {
    static func isBoolean(_ number: NSNumber) -> Bool {
        type(of: number) == type(of: NSNumber(value: true)) && (number === NSNumber(value: true) || String(cString: number.objCType) == "c")
    }
}
