/// The white space between the values of a text: by default that of a new file, and otherwise that of the document to which a value is added.
struct TextLayout {
    /// The number of containers around the value.
    var depth = 0
    /// The white space at the beginning of the line on which the value starts.
    var margin: [UInt8] = []
    /// The additional white space for each container inside.
    var unit: [UInt8] = [0x20, 0x20]
    /// What separates lines; empty for everything on one line.
    var lineEnding: [UInt8] = [0x0A]
    /// What separates a key of JSON from its value.
    var colon: [UInt8] = [0x3A, 0x20]

    /// Everything on one line.
    static func oneLine(depth: Int = 0, colon: [UInt8] = [0x3A]) -> TextLayout {
        TextLayout(depth: depth, unit: [], lineEnding: [], colon: colon)
    }

    /// What follows a comma of JSON on the same line: a space if there is one before values.
    var space: [UInt8] { colon.last == 0x20 && lineEnding.isEmpty ? [0x20] : [] }
}
