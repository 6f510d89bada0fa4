import Foundation

/// An element of a picture.
struct SVGElement {
    let text: String

    /// An element with attributes and content: text or child elements.
    init(_ name: String, _ attributes: KeyValuePairs<String, String> = [:], text content: String = "") {
        self.init(name, attributes, markup: Self.escaped(content))
    }

    init(_ name: String, _ attributes: KeyValuePairs<String, String> = [:], _ children: [SVGElement]) {
        self.init(name, attributes, markup: children.map { "\n" + $0.text }.joined() + "\n")
    }

    private init(_ name: String, _ attributes: KeyValuePairs<String, String>, markup: String) {
        let attributes = attributes.map { " \($0.key)=\"\(Self.escaped($0.value))\"" }.joined()
        text = markup.isEmpty ? "<\(name)\(attributes)/>" : "<\(name)\(attributes)>\(markup)</\(name)>"
    }

    private static func escaped(_ text: String) -> String {
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
            .replacingOccurrences(of: "\"", with: "&quot;")
    }

    /// A coordinate, rounded to a tenth.
    static func number(_ number: Double) -> String {
        let rounded = (number * 10).rounded() / 10
        return rounded == rounded.rounded() ? String(Int(rounded)) : String(rounded)
    }
}
