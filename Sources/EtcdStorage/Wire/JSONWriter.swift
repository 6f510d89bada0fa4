/// Writes JSON, in the order in which members and elements are added, without white space.
///
///     var writer = JSONWriter()
///     writer.object {
///         $0.member("key", base64: key)
///         $0.member("limit", 100)
///     }
///
/// Members with a default value are left out, as etcd itself does, except text.
struct JSONWriter {
    /// The text so far, in UTF-8.
    private(set) var bytes: [UInt8] = []

    /// Adds an object with the members that the closure adds.
    mutating func object(_ members: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        members(&self)
        bytes.append(UInt8(ascii: "}"))
    }

    /// Adds a member whose value is an object.
    mutating func object(_ name: StaticString, _ members: (inout JSONWriter) -> Void) {
        add(name)
        object(members)
    }

    /// Adds a member whose value is an array, with an object for each element; none if there is no element.
    mutating func array<Element>(_ name: StaticString, _ elements: [Element], _ members: (Element, inout JSONWriter) -> Void) {
        guard !elements.isEmpty else { return }
        add(name)
        bytes.append(UInt8(ascii: "["))
        for element in elements {
            object { members(element, &$0) }
        }
        bytes.append(UInt8(ascii: "]"))
    }

    /// Adds a member with bytes, as base64; none if there are no bytes.
    mutating func member(_ name: StaticString, base64 value: [UInt8]) {
        guard !value.isEmpty else { return }
        add(name)
        bytes.append(UInt8(ascii: "\""))
        Base64.encode(value, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Adds a member with an integer, as a string, so that all 64 bits are kept; none if it is 0.
    mutating func member(_ name: StaticString, _ value: Int64) {
        guard value != 0 else { return }
        add(name)
        bytes.append(UInt8(ascii: "\""))
        bytes += String(value).utf8
        bytes.append(UInt8(ascii: "\""))
    }

    /// Adds a member that is true; none if it is false.
    mutating func member(_ name: StaticString, _ value: Bool) {
        guard value else { return }
        add(name)
        bytes += "true".utf8
    }

    /// Adds a member with text, even if it is empty.
    mutating func member(_ name: StaticString, _ value: String) {
        add(name)
        add(string: value)
    }

    /// Adds the name of a member.
    private mutating func add(_ name: StaticString) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        name.withUTF8Buffer { bytes += $0 }
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
    }

    /// Adds a comma if a value stands before.
    private mutating func separate() {
        switch bytes.last {
        case nil, UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: ":"): break
        default: bytes.append(UInt8(ascii: ","))
        }
    }

    private mutating func add(string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(UInt8(ascii: "\\"))
                bytes.append(byte)
            case 0..<0x20:
                bytes += "\\u00".utf8
                bytes.append(byte < 0x10 ? UInt8(ascii: "0") : UInt8(ascii: "1"))
                bytes.append("0123456789abcdef".utf8.dropFirst(Int(byte & 15)).first ?? 0)
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}
