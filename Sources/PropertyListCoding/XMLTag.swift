/// `<dict>`, `</dict>` or `<dict/>`.
struct XMLTag {
    let element: XMLElement
    let isClosing: Bool
    let isEmpty: Bool
    /// Where its `<` stands.
    let offset: Int
}

/// The elements of a property list; the raw value is the name's bytes, the last of them lowest.
enum XMLElement: UInt64 {
    case plist = 0x70_6C69_7374
    case dictionary = 0x6469_6374
    case array = 0x61_7272_6179
    case key = 0x6B_6579
    case string = 0x7374_7269_6E67
    case integer = 0x69_6E74_6567_6572
    case real = 0x7265_616C
    case yes = 0x7472_7565
    case no = 0x66_616C_7365
    case date = 0x6461_7465
    case data = 0x6461_7461

    /// The name between the angle brackets.
    var name: String {
        var bytes: [UInt8] = []
        var rest = rawValue
        while rest > 0 {
            bytes.insert(UInt8(truncatingIfNeeded: rest), at: 0)
            rest >>= 8
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
